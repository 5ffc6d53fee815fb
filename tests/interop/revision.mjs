// Loaded before the conformance suite, whose client asks for its own newest legacy revision whatever --spec-version says:
// asks for the one in MCP_REVISION instead, and writes into MCP_SPOKEN which revisions the heads of requests have named.
import { writeFileSync } from 'node:fs';

const fetch = globalThis.fetch;
const spoken = new Set();

globalThis.fetch = (url, init = {}) => {
	const named = new Headers(init.headers).get('mcp-protocol-version');
	let body = init.body;

	if (named)
		spoken.add(named);
	if (typeof body === 'string' && body.includes('"method":"initialize"'))
		body = body.replace(/"protocolVersion":"[^"]*"/, `"protocolVersion":"${process.env.MCP_REVISION}"`);
	return fetch(url, { ...init, body });
};
process.on('exit', () => writeFileSync(process.env.MCP_SPOKEN, JSON.stringify([...spoken])));
