// Plays a person at Chromium before the server's pages, as told by the JSON in the first argument, and prints what was
// seen as one JSON object. Lies beside node_modules when it runs (test_pages.py copies it there).
//
//   "url"        the server, without a path            "token"     what the person types
//   "private"    another, with a certificate of a private CA
//   "chromium"   path of the browser                   "out"       folder for the screenshots
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const told = JSON.parse(process.argv[2]);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const sizes = { 390: 844, 1280: 900 };
const found = { views: [], signIns: {} };

async function register(redirect, name) {
	const answer = await fetch(`${told.url}/oauth/register`, {
		method: 'POST',
		headers: { 'Content-Type': 'application/json' },
		body: JSON.stringify({ client_name: name, redirect_uris: [redirect] }),
	});
	return (await answer.json()).client_id;
}

const authorize = (id, redirect) => `${told.url}/oauth/authorize?` + new URLSearchParams({
	response_type: 'code', client_id: id, redirect_uri: redirect, state: 'the state', code_challenge: challenge,
	code_challenge_method: 'S256', resource: `${told.url}/mcp`,
});

// What a page must never do: run or load anything, or be refused something by its own policy.
function watch(page, seen) {
	page.on('console', (message) => seen.complaints.push(message.text()));
	page.on('pageerror', (error) => seen.complaints.push(String(error)));
	page.on('request', (request) => {
		if (request.resourceType() !== 'document' && !request.url().endsWith('/favicon.ico'))
			seen.complaints.push(`asks for ${request.url()}`);
	});
}

// Through the debugging interface, so that the page's policy stays in force for the page itself.
async function inspect(page) {
	await page.evaluate(axe);
	const result = await page.evaluate(() => axe.run(document, { resultTypes: ['violations', 'incomplete'] }));
	const told = (list) => list.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.html).join(' ')}`);
	return {
		rules: result.passes.length, violations: told(result.violations), unsure: told(result.incomplete),
		wide: await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
		small: await page.evaluate(() => [...document.querySelectorAll('input:not([hidden],[type=hidden]),button,summary')]
			.filter((e) => e.getBoundingClientRect().height < 24).map((e) => e.outerHTML)),
	};
}

async function look(page, seen, name, view) {
	await page.screenshot({ path: `${told.out}/${name}-${view}.png`, fullPage: true });
	found.views.push({ name, view, title: await page.title(), status: seen.status, ...await inspect(page) });
}

async function submit(page, token) {
	await page.fill('#password', token);
	const [answer] = await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
	return answer.status();
}

const browser = await chromium.launch({ executablePath: told.chromium, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
let visitor = 0;

async function newPage(options, seen) {
	const context = await browser.newContext({
		...options, ignoreHTTPSErrors: true, extraHTTPHeaders: { 'X-Forwarded-For': `198.51.100.${++visitor}` },	// wrong tokens are counted by peer
	});
	const page = await context.newPage();
	watch(page, seen);
	return page;
}

// -- each page in each size and scheme

const redirect = 'https://client.example/callback';
const id = await register(redirect, 'Claude <b>\u00e4\u4e2d\u6587</b>');
for (const [width, height] of Object.entries(sizes)) {
	for (const colorScheme of ['light', 'dark']) {
		const seen = { complaints: [] };
		const page = await newPage({ viewport: { width: Number(width), height }, colorScheme }, seen);
		const view = `${width}-${colorScheme}`;
		const open = async (url) => { seen.status = (await page.goto(url)).status(); };

		await open(`${told.url}/`);
		await look(page, seen, 'home', view);
		await open(`${told.private}/`);
		await look(page, seen, 'home-private-ca', view);
		await open(authorize(id, redirect));
		await look(page, seen, 'authorize', view);
		await page.click('summary');
		await look(page, seen, 'authorize-tools', view);
		seen.status = await submit(page, 'not the token');
		await look(page, seen, 'wrong-token', view);
		for (let i = 0; i < 20 && seen.status !== 429; i++)
			seen.status = await submit(page, 'not the token');
		await look(page, seen, 'too-many', view);
		await open(authorize('unknown', redirect));
		await look(page, seen, 'unknown-client', view);
		await open(authorize(id, 'https://evil.example/'));
		await look(page, seen, 'other-address', view);
		// the browser says so itself of each answer of 400 and above
		found.views.at(-1).complaints = seen.complaints.filter((text) => !/status of (400|401|404|429)/.test(text));
		await page.context().close();
	}
}

// -- signing in with the keyboard alone

async function active(page) {
	return page.evaluate(() => {
		const e = document.activeElement, style = getComputedStyle(e);
		return { tag: e.tagName, outline: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 };
	});
}

// The field that takes the focus by itself does so when the page is first drawn, which may be after its load.
async function focused(page) {
	await page.waitForFunction(() => document.activeElement !== document.body, null, { timeout: 10000 }).catch(() => {});
}

async function signIn(name, uri, came) {
	const seen = { complaints: [] };
	const page = await newPage({ viewport: { width: 1280, height: 900 } }, seen);
	const got = found.signIns[name] = { focus: [] };
	await page.goto(authorize(await register(uri, name), uri));
	await focused(page);
	got.focus.push(await active(page));		// where it stands when the page opens
	for (let i = 0; i < 3; i++) {
		await page.keyboard.press('Tab');
		got.focus.push(await active(page));
	}
	await page.reload();
	await focused(page);
	await page.keyboard.type(told.token);
	const posted = page.waitForResponse((answer) => answer.request().method() === 'POST');
	await page.keyboard.press('Tab');
	await page.keyboard.press('Space');		// on the button
	const answer = await posted;
	got.origin = (await answer.request().allHeaders()).origin;
	got.status = answer.status();
	got.location = answer.headers().location;
	await Promise.race([came, page.waitForTimeout(20000)]);
	await page.waitForTimeout(500);		// for what the browser may have to say of it
	got.complaints = seen.complaints;
	got.end = page.url();
	await page.context().close();
}

let arrived;
const came = new Promise((resolve) => { arrived = resolve; });
const listener = createServer((request, response) => {
	response.end('signed in');
	if (request.url === '/favicon.ico')
		return;
	found.came = { path: request.url, referrer: request.headers.referer ?? null };
	arrived();
});
await new Promise((ready) => listener.listen(0, '127.0.0.1', ready));
await signIn('loopback', `http://127.0.0.1:${listener.address().port}/callback`, came);
await signIn('app', 'cursor://anysphere.cursor-retrieval/oauth/user-cursor/callback');
listener.close();
await browser.close();
console.log(JSON.stringify(found));
