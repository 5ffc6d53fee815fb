// The official TypeScript client, walked through the course of course.py, which says what goes in and what comes out.
// Lies beside node_modules when it runs (conftest.py copies it there).
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [era, target, ...words] = process.argv.slice(2);
const modes = { legacy: 'legacy', auto: 'auto', pinned: { pin: '2026-07-28' } };
const name = '\u00e5\u00df\u65e5\u672c\u8a9e\u{1f980}';
const driver = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const tell = (step, found) => console.log(JSON.stringify({ step, ...found }));

function transport() {
	if (target === '--')
		return new StdioClientTransport({ command: words[0], args: words.slice(1), env: process.env });
	return new StreamableHTTPClientTransport(new URL(target), {
		requestInit: { headers: process.env.MCP_TOKEN ? { Authorization: `Bearer ${process.env.MCP_TOKEN}` } : {} },
	});
}

const client = new Client({ name: 'interop-typescript', version: '1' }, { versionNegotiation: { mode: modes[era] } });

async function call(tool, args, options) {
	const result = await client.callTool({ name: tool, arguments: args }, options);
	return { failed: result.isError === true, text: result.content.map((block) => block.text).join('') };
}

async function refusal(work) {
	try {
		return { answer: await work };
	} catch (error) {
		return { code: error.code, message: String(error.message) };
	}
}

await client.connect(transport());
tell('connect', { protocol: client.getNegotiatedProtocolVersion() });
tell('list', { tools: (await client.listTools()).tools.map((tool) => tool.name) });
tell('write', await call('file_write', { path: `${name}.txt`, content: name }));
tell('read', await call('file_read', { path: `${name}.txt` }));
tell('error', await call('file_read', { path: 'none' }));
tell('unknown', await refusal(call('n\u00f6pe', {})));

const seen = [];
const command = 'for i in 1 2 3; do echo line $i; sleep 0.6; done';
const answer = await call('terminal_exec', { command }, { onprogress: (p) => seen.push([p.progress, p.message]) });
tell('progress', { seen, ...answer });

const abort = new AbortController();
const running = refusal(call('terminal_exec', { command: 'echo $$ > pid; exec sleep 60', timeout: 5 },
	{ signal: abort.signal }));
await driver.next();
abort.abort();
tell('abort', await running);
await driver.next();
tell('after', await call('terminal_exec', { command: 'echo on' }));
if (era === 'legacy')
	tell('ping', { answer: await client.ping() });
await client.close();
tell('close');
process.exit();
