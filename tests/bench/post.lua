-- A POST of one JSON-RPC message, for wrk; SANDSTORM_MCP_TOKEN is the bearer. Says at the end what the summary leaves out.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = "application/json, text/event-stream"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("SANDSTORM_MCP_TOKEN")
wrk.headers["MCP-Protocol-Version"] = "2025-11-25"
wrk.body = os.getenv("BENCH_BODY")

function done(summary, latency)
	local e = summary.errors
	io.write(string.format("requests=%d errors=%d p50_us=%d p99_us=%d duration_us=%d\n", summary.requests,
		e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(50), latency:percentile(99), summary.duration))
end
