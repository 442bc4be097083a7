// A browser in front of a hub, and scenes that are played in it.
//
// A scene is a test with a page of its own. Whatever it is about, it also fails if the page
// opened a dialog, threw, broke the Content Security Policy, ran what somebody smuggled in, or
// asked anything of another host. A scene that fails prints where the page was, what it
// showed, and what the hub wrote.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';

import { PATIENCE, startHub } from './rig.mjs';

const BROWSER = process.env.CHROMIUM || '/usr/bin/chromium';

// It runs as root in a container, and talks to nobody but the hub.
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** How long a page may take to show something, in milliseconds. */
const SOON = 20_000;

export const PHONE = { width: 390, height: 844 };

export function launch() {
  return chromium.launch({ executablePath: BROWSER, args: FLAGS, timeout: PATIENCE });
}

/** A context in which somebody has signed in, if they are `signedIn`; their cookie is kept for the next. */
export async function open(browser, hub, { signedIn = true, ...options } = {}) {
  const context = await browser.newContext({ baseURL: hub.url, locale: 'en-US', ...options });
  context.setDefaultTimeout(SOON);
  if (signedIn) {
    hub.cookies ??= await signIn(browser, hub);
    await context.addCookies(hub.cookies);
  }
  return context;
}

async function signIn(browser, hub) {
  const context = await browser.newContext({ baseURL: hub.url, javaScriptEnabled: false });
  try {
    const answer = await context.request.get(await hub.link());
    assert.equal(answer.status(), 200, 'the link of `helve console` signs in');
    return await context.cookies();
  } finally {
    await context.close();
  }
}

/** Writes down what no page may ever do. */
function watch(context, hub) {
  const seen = [];
  const follow = (page) => {
    page.on('dialog', (dialog) => {
      seen.push(`a dialog: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
    page.on('pageerror', (error) => seen.push(`an error of the script: ${error.message}`));
    page.on('console', (message) => {
      // A refusal is a page like any other; the browser mentions its status there.
      const told = message.type() === 'error' && !message.text().startsWith('Failed to load resource');
      if (told) seen.push(`on the console: ${message.text()}`);
    });
  };
  context.on('page', follow);
  context.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol.startsWith('http') && origin !== hub.url) seen.push(`asked another host: ${request.url()}`);
  });
  return seen;
}

async function report(page, hub) {
  const shown = await page.locator('body').innerText({ timeout: 2000 }).catch((error) => `(${error.message})`);
  console.error(`--- the page: ${page.url()}\n${shown.slice(0, 6000)}\n--- the hub:\n${hub.log.slice(-6000)}\n---`);
}

/**
 * A hub and a browser for the scenes of a file.
 *
 * `hub` is what `startHub` takes, `prepare` what is done with the hub before the first scene;
 * what it returns is handed to every scene as `made`.
 */
export function stage({ hub: wanted = {}, prepare = async () => {} } = {}) {
  const shared = {};
  before(async () => {
    shared.hub = await startHub(wanted);
    shared.browser = await launch();
    shared.made = await prepare(shared.hub);
  });
  after(async () => {
    await shared.browser?.close();
    await shared.hub?.stop();
  });

  /** A test with a page. `options` are the browser context's, and `signedIn`. */
  return function scene(name, options, play) {
    if (!play) [options, play] = [{}, options];
    test(name, { timeout: 4 * PATIENCE }, async () => {
      const { hub, browser, made } = shared;
      const context = await open(browser, hub, options);
      const seen = watch(context, hub);
      const page = await context.newPage();
      try {
        await play({ hub, page, context, browser, made, another: (more = {}) => open(browser, hub, { ...options, ...more }) });
        await unharmed(page, seen);
      } catch (error) {
        await report(page, hub);
        throw error;
      } finally {
        await context.close();
      }
    });
  };
}

/** What a page has under the name that smuggled scripts use. A question that is put while the
 * page gives way to the next can stay without an answer; then it is put to the next. */
async function smuggled(page) {
  for (let tries = 0; tries < 4; tries += 1) {
    const asked = page.evaluate(() => globalThis.__xss).then((ran) => [ran], () => [undefined]);
    const answer = await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, 5000))]);
    if (answer) return answer[0];
  }
  throw new Error(`${page.url()} does not answer`);
}

async function unharmed(page, seen) {
  const ran = await smuggled(page);
  assert.equal(ran, undefined, 'nothing that was smuggled in has run');
  assert.deepEqual(seen, [], 'the page did nothing that it may not');
}

/** The item of the inbox about an approval or a question. */
export function item(page, id) {
  return page.locator(`article[data-item][data-id="${id}"]`);
}

/** Clicks what leads to another page, and gives the answer of the server to it. */
export async function follow(page, target) {
  const arrived = (response) => response.request().isNavigationRequest() && !isRedirect(response);
  const [answer] = await Promise.all([page.waitForResponse(arrived), target.click()]);
  await page.waitForLoadState();
  return answer;
}

function isRedirect(response) {
  return response.status() >= 300 && response.status() < 400;
}

/** Waits until the page of a run says that the run is in a state. */
export function inState(page, run, state) {
  return page.locator(`[data-run="${run}"][data-state="${state}"]`).first().waitFor({ state: 'attached' });
}

/** What a refusal or a failure says on its page. */
export async function alarm(page) {
  const alert = page.locator('[role=alert]').first();
  await alert.waitFor();
  return alert.innerText();
}

/** Landmarks are there, nothing is wider than the window, nobody's text became part of the page. */
export async function whole(page) {
  const found = await page.evaluate(() => ({
    lang: document.documentElement.lang,
    titled: document.title.trim() !== '',
    mains: document.querySelectorAll('main').length,
    headers: document.querySelectorAll('body > header, body header nav').length > 0,
    inline: document.querySelectorAll('script:not([src]), style, [style]').length,
    handlers: [...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => /^on/i.test(a.name))).length,
    links: [...document.querySelectorAll('[href], [src], [action], [formaction]')]
      .flatMap((e) => ['href', 'src', 'action', 'formaction'].map((name) => e.getAttribute(name)))
      .filter((place) => place && /^\s*(javascript|data|vbscript):/i.test(place)),
    // Of two things with one id, a label or a hint finds the wrong one.
    twice: [...document.querySelectorAll('[id]')].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i),
    wide: document.documentElement.scrollWidth - globalThis.innerWidth,
  }));
  const { lang, wide, ...rest } = found;
  assert.match(lang, /^(en|zh)/);
  assert.ok(wide <= 0, `${page.url()} is ${wide} pixels wider than the window`);
  const wanted = { titled: true, mains: 1, headers: true, inline: 0, handlers: 0, links: [], twice: [] };
  assert.deepEqual(rest, wanted, `the page ${page.url()} is whole`);
}
