//! The official Rust client, walked through the course of course.py, which says what goes in and what comes out.

use std::error::Error;
use std::sync::Mutex;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, PingRequest,
};
use rmcp::model::{ProgressNotificationParam, ProtocolVersion};
use rmcp::service::{
    NotificationContext, PeerRequestOptions, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};

const NAME: &str = "åß日本語🦀";

type Outcome<T> = Result<T, Box<dyn Error>>;
type Running = RunningService<RoleClient, Notes>;

#[derive(Default)]
struct Notes(Mutex<Vec<Value>>);

impl ClientHandler for Notes {
    async fn on_progress(
        &self,
        note: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0
            .lock()
            .unwrap()
            .push(json!([note.progress, note.message]));
    }
}

fn tell(step: &str, mut found: Value) {
    found["step"] = json!(step);
    println!("{found}");
}

fn lifecycle(era: &str) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match era {
        "legacy" => ClientLifecycleMode::Initialize,
        "discover" => ClientLifecycleMode::Discover { preferred_versions },
        _ => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: None,
        },
    }
}

async fn connect(era: &str, target: &str, command: &[String]) -> Outcome<Running> {
    if target == "--" {
        let mut server = tokio::process::Command::new(&command[0]);
        server.args(&command[1..]);
        return Ok(Notes::default()
            .serve_with_lifecycle(TokioChildProcess::new(server)?, lifecycle(era))
            .await?);
    }
    let config = StreamableHttpClientTransportConfig::with_uri(target)
        .auth_header(std::env::var("MCP_TOKEN")?);
    Ok(Notes::default()
        .serve_with_lifecycle(
            StreamableHttpClientTransport::from_config(config),
            lifecycle(era),
        )
        .await?)
}

fn params(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
}

fn outcome(result: CallToolResult) -> Value {
    let text: String = result
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .map(|t| t.text.as_str())
        .collect();
    json!({ "failed": result.is_error.unwrap_or(false), "text": text })
}

async fn call(client: &Running, tool: &'static str, arguments: Value) -> Outcome<Value> {
    Ok(outcome(client.call_tool(params(tool, arguments)).await?))
}

fn refusal<T>(answer: Result<T, ServiceError>) -> Value {
    match answer {
        Ok(_) => json!({ "answer": true }),
        Err(ServiceError::McpError(error)) => {
            json!({ "code": error.code.0, "message": error.message })
        }
        Err(other) => json!({ "message": other.to_string() }),
    }
}

async fn abort(client: &Running, driver: &mut Lines<BufReader<Stdin>>) -> Outcome<()> {
    let sleep = params(
        "terminal_exec",
        json!({ "command": "echo $$ > pid; exec sleep 60", "timeout": 5 }),
    );
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(sleep));
    let running = client
        .send_cancellable_request(request, PeerRequestOptions::no_options())
        .await?;
    driver.next_line().await?;
    running.cancel(Some("the user's wish".into())).await?;
    tell("abort", json!({ "message": "cancelled" }));
    driver.next_line().await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().collect();
    let (era, target) = (words[1].as_str(), words[2].as_str());
    let mut driver = BufReader::new(tokio::io::stdin()).lines();
    let client = connect(era, target, &words[3..]).await?;
    let peer = client.peer_info().ok_or("connected to nobody")?;
    tell(
        "connect",
        json!({ "protocol": peer.protocol_version.to_string() }),
    );

    let tools = client.list_tools(None).await?.tools;
    tell(
        "list",
        json!({ "tools": tools.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>() }),
    );
    let file = format!("{NAME}.txt");
    tell(
        "write",
        call(
            &client,
            "file_write",
            json!({ "path": file, "content": NAME }),
        )
        .await?,
    );
    tell(
        "read",
        call(&client, "file_read", json!({ "path": file })).await?,
    );
    tell(
        "error",
        call(&client, "file_read", json!({ "path": "none" })).await?,
    );
    tell(
        "unknown",
        refusal(client.call_tool(params("nöpe", json!({}))).await),
    );

    let lines = json!({ "command": "for i in 1 2 3; do echo line $i; sleep 0.6; done" });
    let mut answer = call(&client, "terminal_exec", lines).await?;
    answer["seen"] = json!(*client.service().0.lock().unwrap());
    tell("progress", answer);

    abort(&client, &mut driver).await?;
    tell(
        "after",
        call(&client, "terminal_exec", json!({ "command": "echo on" })).await?,
    );
    if era == "legacy" {
        client
            .send_request(ClientRequest::PingRequest(PingRequest::default()))
            .await?;
        tell("ping", json!({ "answer": {} }));
    }
    client.cancel().await?;
    tell("close", json!({}));
    std::process::exit(0); // its reader of standard input still waits
}
