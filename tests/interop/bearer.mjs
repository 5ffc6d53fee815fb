// Loaded before the conformance suite, which has no option for a token: adds the one in MCP_BEARER to every request that
// has none. The suite sends with fetch, undici and node:http.
import channels from 'node:diagnostics_channel';

const value = `Bearer ${process.env.MCP_BEARER}`;
channels.subscribe('undici:request:create', ({ request }) => request.addHeader('authorization', value));
channels.subscribe('http.client.request.created', ({ request }) => {
	if (!request.hasHeader('authorization'))
		request.setHeader('authorization', value);
});
