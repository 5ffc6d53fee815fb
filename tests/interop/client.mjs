// Connects the official TypeScript client as told by the JSON in the first argument, does what a user's program would do,
// and prints what came of it as one JSON object. Lies beside node_modules when it runs (test_interop.py copies it there).
//
//   { "url", "token" } or { "command", "args", "env" }     the server
//   "mode"                                                 "legacy", "auto" or { "pin": "2026-07-28" }
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const told = JSON.parse(process.argv[2]);
const found = { progress: [] };

function transport() {
	if (told.command)
		return new StdioClientTransport({ command: told.command, args: told.args, env: told.env });
	return new StreamableHTTPClientTransport(new URL(told.url), {
		requestInit: { headers: { Authorization: `Bearer ${told.token}` } },
	});
}

async function refusal(work) {
	try {
		return { result: await work() };
	} catch (error) {
		return { code: error.code, message: String(error.message) };
	}
}

const client = new Client({ name: 'interop', version: '1' }, { versionNegotiation: { mode: told.mode } });
const call = (name, args, options) => client.callTool({ name, arguments: args }, options);

await client.connect(transport());
found.version = client.getNegotiatedProtocolVersion();
found.tools = (await client.listTools()).tools.map((tool) => tool.name);
found.written = await call('file_write', { path: 'ts.txt', content: 'a\r\nb \u20ac \u{1f600}' });
found.read = await call('file_read', { path: 'ts.txt' });
found.failed = await call('file_read', { path: 'none' });
found.unknown = await refusal(() => call('n\u00f6pe', {}));
found.long = await call('terminal_exec', { command: 'for i in 1 2 3; do echo step $i; sleep 0.45; done' }, {
	onprogress: (p) => found.progress.push([p.progress, p.message]),
});
found.aborted = await refusal(() => call('terminal_exec', { command: 'echo $$ > pid; exec sleep 60', timeout: 3 }, {
	signal: AbortSignal.timeout(400),
}));
found.after = await call('terminal_exec', { command: 'echo on' });
if (told.mode === 'legacy')
	found.ping = await client.ping();
await client.close();
console.log(JSON.stringify(found));
