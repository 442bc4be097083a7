// What the tests of this folder share: a hub in a folder of its own, and those who talk to it.
//
// They run with the Node of the environment that `./test` makes; npm packages are in
// `node_modules` beside this file (`npm ci`). The binary is `$HELVE`, or the one that cargo built.

import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const ROOT = path.resolve(import.meta.dirname, '..', '..');
const TARGET = path.resolve(process.env.CARGO_TARGET_DIR || path.join(ROOT, 'target'));
export const HELVE = path.resolve(process.env.HELVE || path.join(TARGET, 'debug', 'helve'));

/** How long anything may take on a busy machine, in milliseconds. */
export const PATIENCE = 60_000;

// Tests ask in a hurry; the limits have tests of their own.
const UNHURRIED = '\n[server]\nrate = 100000\nburst = 100000\n';

/** A child's environment. What a person has set up for themselves is no part of a test. */
function environment() {
  const kept = Object.entries(process.env).filter(([key]) => !/^(HELVE|npm_)/.test(key));
  // The hub reads the user's rules from there, and finds none.
  return {
    ...Object.fromEntries(kept),
    XDG_CONFIG_HOME: path.join(TARGET, 'no-config'),
    // Servers behind the hub are started with the Node that runs the tests.
    PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`,
  };
}

/** Looks again and again until there is something. */
export async function until(what, look, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what}: not within ${patience / 1000}s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Whoever has a token: the agent, or the person at the terminal. */
class Caller {
  constructor(hub, secret) {
    this.hub = hub;
    this.secret = secret;
  }

  /** One request to the REST interface: its status, and what came. */
  async ask(method, place, body, type = 'application/json') {
    const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(this.hub.url + place, {
      method,
      headers: { authorization: `Bearer ${this.secret}`, 'content-type': type },
      body: sent,
      signal: AbortSignal.timeout(PATIENCE),
    });
    const text = await answer.text();
    const json = /^application\/(problem\+)?json/.test(answer.headers.get('content-type')) && text;
    return { status: answer.status, body: json ? JSON.parse(text) : text };
  }

  /** The same, where anything but a yes is a failure. */
  async must(method, place, body, type) {
    const { status, body: said } = await this.ask(method, place, body, type);
    if (status >= 300) throw new Error(`${method} ${place}: ${status} ${JSON.stringify(said)}`);
    return said;
  }

  /** Calls a tool: what it answered, or with `wait: 'decision'` what came of it after people decided. */
  call(tool, args = {}, wait = 'run') {
    return this.must('POST', `/tools/${tool}/runs`, { args, wait });
  }

  /** Calls a tool about which people are asked: the run, and the approval. */
  async asks(tool, args) {
    const { meta } = await this.call(tool, args);
    if (!meta.approval_id) throw new Error(`nobody was asked about ${tool}: ${JSON.stringify(meta)}`);
    return { run: meta.run_id, approval: meta.approval_id };
  }

  run(id) {
    return this.must('GET', `/runs/${id}`);
  }

  approval(id) {
    return this.must('GET', `/approvals/${id}`);
  }

  /** A run, once it is over: the stream of what it writes ends with it. */
  async ended(id) {
    await this.must('GET', `/runs/${id}/logs`);
    return this.run(id);
  }

  /** A question that a run asks, once it is open. */
  question(run) {
    return until(`a question of ${run}`, async () => {
      const { items } = await this.must('GET', '/questions');
      return items.find((question) => question.run_id === run);
    });
  }
}

/** A hub that runs in a new folder. */
class Hub {
  constructor(folder) {
    this.folder = folder;
    this.log = '';
  }

  async start() {
    if (!fs.existsSync(HELVE)) throw new Error(`${HELVE} is not built; run \`cargo build -p helve\``);
    this.child = spawn(HELVE, ['up', '--listen', '127.0.0.1:0'], {
      cwd: this.folder,
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (this.log += text));
    }
    this.ended = new Promise((resolve) => this.child.once('close', resolve));
    // A test that falls over takes its hub with it.
    this.reaper = () => this.child.kill('SIGKILL');
    process.once('exit', this.reaper);
    this.url = await until('the hub listens', () => this.listening());
    this.agent = new Caller(this, this.token('agent'));
    this.person = new Caller(this, this.token('terminal'));
    return this;
  }

  async listening() {
    if (this.child.exitCode !== null) throw new Error(`the hub ended (${this.child.exitCode}):\n${this.log}`);
    try {
      const { url } = JSON.parse(this.read('.helve/hub.json'));
      const { ok } = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5000) });
      return ok && url;
    } catch {
      return undefined;
    }
  }

  token(name) {
    return this.read(`.helve/tokens/${name}`).trim();
  }

  /** Another agent, of that name. */
  async agentNamed(name) {
    const { secret } = await this.person.must('POST', '/tokens', { name });
    return new Caller(this, secret);
  }

  /** A link that signs in once. */
  async link() {
    return JSON.parse(await this.command('console', '--json')).url;
  }

  /** A command of the person at the terminal: what it printed. */
  async command(...words) {
    const options = { cwd: this.folder, env: environment(), timeout: PATIENCE };
    const { stdout } = await promisify(execFile)(HELVE, words, options);
    return stdout;
  }

  /** Calls off what still runs: a hub that stops lets it end first, and a question waits for long. */
  async calm() {
    const { items } = await this.person.must('GET', '/runs?state=running');
    await Promise.all(items.map((run) => this.person.ask('POST', `/runs/${run.id}/cancel`)));
  }

  /** A file of the workspace, or nothing if it is not there. */
  read(name) {
    const place = path.join(this.folder, name);
    return fs.existsSync(place) ? fs.readFileSync(place, 'utf8') : undefined;
  }

  write(name, text) {
    const place = path.join(this.folder, name);
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.writeFileSync(place, text);
  }

  async stop() {
    await this.calm().catch(() => {});
    process.removeListener('exit', this.reaper);
    const late = setTimeout(() => this.child.kill('SIGKILL'), 10_000);
    this.child.kill('SIGTERM');
    await this.ended;
    clearTimeout(late);
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * Starts a hub in a new workspace.
 *
 * `toml` is its configuration, `files` what lies in the folder; `hurried` leaves the limits of
 * requests as they are by default.
 */
export async function startHub({ toml = '', files = {}, hurried = false } = {}) {
  const hub = new Hub(fs.mkdtempSync(path.join(os.tmpdir(), 'helve-console-')));
  hub.write('helve.toml', toml + (hurried ? '' : UNHURRIED));
  for (const [name, text] of Object.entries(files)) hub.write(name, text);
  try {
    return await hub.start();
  } catch (error) {
    if (hub.child) await hub.stop();
    throw error;
  }
}
