// Pictures of every page, out of a hub in which two agents have worked for a while.
//
// usage: shots.mjs FOLDER

import fs from 'node:fs';
import path from 'node:path';

import { PHONE, inState, item, launch, open } from './browser.mjs';
import { SERVERS, changeServer } from './furnished.mjs';
import { startHub } from './rig.mjs';

const WINDOW = { width: 1280, height: 800 };

const CLIENT = `\
use std::time::Duration;

/// Asks the weather service, and gives up after a while.
pub struct Client {
    base: String,
    patience: Duration,
}

impl Client {
    pub fn new(base: impl Into<String>) -> Self {
        Self { base: base.into(), patience: Duration::from_secs(30) }
    }

    pub fn get(&self, city: &str) -> Result<Forecast, Error> {
        let url = format!("{}/v1/forecast?city={city}", self.base);
        let answer = ureq::get(&url).timeout(self.patience).call()?;
        Ok(answer.into_json()?)
    }
}
`;

const REPORT = `\
"""Prints tomorrow's weather for a list of cities."""

import sys

from weather import Client


def report(cities):
    client = Client("https://weather.example")
    for city in cities:
        forecast = client.get(city)
        print(city, forecast["high"], forecast["low"])


if __name__ == "__main__":
    report(sys.argv[1:])
`;

const RENAME = `\
set -eu
sed -i 's/pub fn get(/pub fn forecast(/; s/from_secs(30)/from_secs(10)/' src/client.rs
sed -i 's/client\\.get(city)/client.forecast(city)/; s/print(city, /print(f"{city}:", /' scripts/report.py
printf '# Changes\\n\\n- \`get\` is called \`forecast\`; it gives up after ten seconds.\\n' > CHANGES.md
echo "renamed in 2 files"
`;

const RENAME_TOML = `\
name = "rename"
title = "Rename a function"
description = "Renames a function wherever it is used, in all languages of the project. Use it when a name no longer fits."
category = "project"
risk = "write"
idempotent = true
allowed_paths = ["."]
triggers = ["When a function is called what it no longer is"]

[executor]
type = "host"
command = ["sh", "rename.sh", "{from}", "{to}"]

[input_schema]
type = "object"
required = ["from", "to"]
additionalProperties = false

[input_schema.properties.from]
type = "string"
description = "What it is called"

[input_schema.properties.to]
type = "string"
description = "What it is to be called"
`;

const FILES = {
  'src/client.rs': CLIENT,
  'scripts/report.py': REPORT,
  'README.md': '# Weather\n\nA client for the weather service.\n',
  'rename.sh': RENAME,
  'tools/project/rename.toml': RENAME_TOML,
  ...SERVERS,
};

/** Lets the agents work, and people answer; what the pictures are of. */
async function work(hub) {
  const [claude, kimi] = [await hub.agentNamed('claude'), await hub.agentNamed('kimi')];
  await claude.call('file_list', { path: '.' });
  await claude.call('file_read', { path: 'src/client.rs' });
  await kimi.call('file_grep', { pattern: 'client' });
  await claude.call('code_search', { query: 'patience' });
  await kimi.call('file_read', { path: 'src/server.rs' });
  await claude.call('todo_add', { content: 'Rename `get`, and say so in the changelog' });
  const sentence = 'A client for the weather service, in Rust and Python.';
  const edited = await claude.asks('file_edit', { path: 'README.md', old_string: 'A client for the weather service.', new_string: sentence });
  await hub.person.must('POST', `/approvals/${edited.approval}/approve`, {});
  await claude.ended(edited.run);
  const hasty = await kimi.asks('file_write', { path: 'notes/plan.md', content: '# Plan\n\n- cache forecasts for ten minutes\n' });
  await hub.person.must('POST', `/approvals/${hasty.approval}/approve`, {});
  await kimi.ended(hasty.run);
  const denied = await kimi.asks('file_delete', { path: 'scripts/report.py' });
  await hub.person.must('POST', `/approvals/${denied.approval}/deny`, { reason: 'the nightly report still needs it' });
  const undone = await kimi.asks('file_write', { path: 'src/cache.rs', content: 'pub struct Cache;\n' });
  await hub.person.must('POST', `/approvals/${undone.approval}/approve`, {});
  await kimi.ended(undone.run);
  const { meta: undo } = await hub.person.must('POST', `/runs/${undone.run}/undo`, {});
  await changeServer(hub);
  const question = { question: 'Which cities belong into the nightly report?', context: 'The list in the script is from last winter.', options: ['as it is', 'all with a station', 'ask me tomorrow'] };
  const { meta: asking } = await kimi.call('human_input', question, 'nothing');
  await hub.person.question(asking.run_id);
  const waiting = await claude.asks('project_rename', { from: 'get', to: 'forecast' });
  return { waiting, edited, hasty, undo: undo.run_id };
}

/** Each picture: its name, its page, what must be there first, and how the window differs. */
function shots({ waiting, edited, hasty, undo }) {
  const ready = (page) => item(page, waiting.approval).locator('.diff').waitFor();
  const over = (run) => (page) => inState(page, run, 'succeeded');
  return [
    ['sign-in', '/console/sign-in', undefined, { signedIn: false }],
    ['overview', '/console'],
    ['inbox', '/console/inbox', ready],
    ['inbox-dark', '/console/inbox', ready, { colorScheme: 'dark' }],
    ['inbox-phone', '/console/inbox', ready, { viewport: PHONE, deviceScaleFactor: 2, isMobile: true, hasTouch: true }],
    ['approval-split', `/console/inbox/${waiting.approval}?view=split`],
    ['remember', `/console/inbox/${waiting.approval}/remember`],
    ['runs', '/console/runs'],
    ['run', `/console/runs/${edited.run}`, over(edited.run)],
    ['run-of-an-undo', `/console/runs/${undo}`, over(undo)],
    ['undo', `/console/runs/${hasty.run}/undo`],
    ['tools', '/console/tools'],
    ['tool', '/console/tools/project_rename'],
    ['servers', '/console/servers'],
    ['audit', '/console/audit'],
    ['audit-entry', '/console/audit/20'],
  ];
}

const [, , folder] = process.argv;
if (!folder) {
  console.error('usage: shots.mjs FOLDER');
  process.exit(2);
}
fs.mkdirSync(folder, { recursive: true });
const hub = await startHub({ files: FILES });
const browser = await launch();
try {
  for (const [name, place, ready, options = {}] of shots(await work(hub))) {
    const context = await open(browser, hub, { viewport: WINDOW, colorScheme: 'light', ...options });
    const page = await context.newPage();
    const answer = await page.goto(place);
    if (answer.status() !== 200) throw new Error(`${place}: ${answer.status()}`);
    await ready?.(page);
    await page.screenshot({ path: path.join(folder, `${name}.png`) });
    console.log(`${name}.png`);
    await context.close();
  }
} finally {
  await browser.close();
  await hub.stop();
}
