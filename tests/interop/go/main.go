// The official Go client, walked through the course of course.py, which says what goes in and what comes out.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const name = "åß日本語🦀"

type found map[string]any

var driver = bufio.NewReader(os.Stdin)

func tell(step string, what found) {
	line := found{"step": step}
	for key, value := range what {
		line[key] = value
	}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

type bearer string

func (token bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(request)
}

func transport(target string, command []string) mcp.Transport {
	if target == "--" {
		server := exec.Command(command[0], command[1:]...)
		server.Stderr = os.Stderr
		return &mcp.CommandTransport{Command: server}
	}
	return &mcp.StreamableClientTransport{
		Endpoint:   target,
		HTTPClient: &http.Client{Transport: bearer(os.Getenv("MCP_TOKEN"))},
	}
}

type caller struct{ *mcp.ClientSession }

func (c caller) call(ctx context.Context, tool string, arguments found, token any) (found, error) {
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	if token != nil {
		params.SetProgressToken(token)
	}
	result, err := c.CallTool(ctx, params)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, block := range result.Content {
		text.WriteString(block.(*mcp.TextContent).Text)
	}
	return found{"failed": result.IsError, "text": text.String()}, nil
}

func refusal(answer found, err error) found {
	var wire *jsonrpc.Error
	switch {
	case err == nil:
		return found{"answer": answer}
	case errors.As(err, &wire):
		return found{"code": wire.Code, "message": wire.Message}
	default:
		return found{"message": err.Error()}
	}
}

func (c caller) abort() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan found)
	go func() {
		ended <- refusal(c.call(ctx, "terminal_exec", found{"command": "echo $$ > pid; exec sleep 60", "timeout": 5}, nil))
	}()
	must(driver.ReadString('\n'))
	cancel()
	tell("abort", <-ended)
	must(driver.ReadString('\n'))
}

func main() {
	era, target, command := os.Args[1], os.Args[2], os.Args[3:]
	ctx := context.Background()
	noted := make(chan []any, 64)
	client := mcp.NewClient(&mcp.Implementation{Name: "interop-go", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			noted <- []any{request.Params.Progress, request.Params.Message}
		},
	})
	options := &mcp.ClientSessionOptions{}
	if era == "legacy" {
		options.ProtocolVersion = "2025-11-25"
	}
	c := caller{must(client.Connect(ctx, transport(target, command), options))}
	tell("connect", found{"protocol": c.InitializeResult().ProtocolVersion})

	tools := []string{}
	for _, tool := range must(c.ListTools(ctx, nil)).Tools {
		tools = append(tools, tool.Name)
	}
	tell("list", found{"tools": tools})
	tell("write", must(c.call(ctx, "file_write", found{"path": name + ".txt", "content": name}, nil)))
	tell("read", must(c.call(ctx, "file_read", found{"path": name + ".txt"}, nil)))
	tell("error", must(c.call(ctx, "file_read", found{"path": "none"}, nil)))
	tell("unknown", refusal(c.call(ctx, "nöpe", found{}, nil)))

	line := found{"command": "for i in 1 2 3; do echo line $i; sleep 0.6; done"}
	answer := must(c.call(ctx, "terminal_exec", line, "token of go"))
	seen := [][]any{}
	for len(noted) > 0 {
		seen = append(seen, <-noted)
	}
	answer["seen"] = seen
	tell("progress", answer)

	c.abort()
	tell("after", must(c.call(ctx, "terminal_exec", found{"command": "echo on"}, nil)))
	if era == "legacy" {
		if err := c.Ping(ctx, nil); err != nil {
			log.Fatal(err)
		}
		tell("ping", found{"answer": found{}})
	}
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
	tell("close", nil)
}
