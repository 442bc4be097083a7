// What tools ask people.

import assert from 'node:assert/strict';

import { follow, item, stage } from './browser.mjs';

const scene = stage();

// What somebody fills in; the mark of the form is not for people.
const FIELD = ':is(input, select, textarea):not([type=hidden])';

/** A question that an agent asks, on the open inbox: its article, and what the agent will read. */
async function asked(hub, page, tool, args) {
  await page.goto('/console/inbox');
  const { meta } = await hub.agent.call(tool, args, 'nothing');
  const { id } = await hub.person.question(meta.run_id);
  const article = item(page, id);
  await article.waitFor();
  const answer = async () => {
    await follow(page, article.locator('button[data-act=answer]'));
    await page.locator('[role=status][data-said]').waitFor();
    assert.equal(await article.count(), 0, 'it is answered');
    return (await hub.agent.ended(meta.run_id)).answer.data;
  };
  return { id, article, answer };
}

/** Says yes or no, in a box or by choosing. */
async function decide(field, yes) {
  const box = (await field.getAttribute('type')) === 'checkbox';
  if (box) await field.setChecked(yes);
  else await field.selectOption(String(yes));
}

scene('a free answer reaches the agent', async ({ hub, page }) => {
  const question = 'What shall the release be called?';
  const { article, answer } = await asked(hub, page, 'human_input', { question, context: 'It has two new tools.' });
  assert.match(await article.locator('[data-question]').innerText(), new RegExp(question.replace('?', '\\?')));
  assert.match(await article.innerText(), /It has two new tools/);
  await article.locator(FIELD).first().fill('Heron — 鹭');
  const data = await answer();
  assert.deepEqual([data.answered, data.answer], [true, 'Heron — 鹭']);
});

scene('one of several is chosen', async ({ hub, page }) => {
  const { article, answer } = await asked(hub, page, 'human_input', { question: 'Where?', options: ['staging', 'production'] });
  await article.locator(FIELD).first().selectOption('production');
  assert.equal((await answer()).answer, 'production');
});

scene('a form with fields of several kinds is filled in', async ({ hub, page }) => {
  const fields = {
    type: 'object',
    properties: {
      title: { type: 'string', title: 'Title' },
      count: { type: 'integer', minimum: 1 },
      loud: { type: 'boolean' },
      size: { type: 'string', enum: ['small', 'large'] },
    },
    required: ['title', 'count', 'size'],
  };
  const { article, answer } = await asked(hub, page, 'human_input', { question: 'How?', fields });
  const field = (name) => article.locator(`${FIELD}[name$="${name}"]`).first();
  await field('title').fill('Party');
  await field('count').fill('12');
  await decide(field('loud'), true);
  await field('size').selectOption('large');
  assert.deepEqual((await answer()).answer, { title: 'Party', count: 12, loud: true, size: 'large' });
});

for (const yes of [true, false]) {
  scene(`asked for a yes, a person says ${yes ? 'yes' : 'no'}`, async ({ hub, page }) => {
    const { article, answer } = await asked(hub, page, 'human_confirm', { action: 'Delete 120 files', reason: 'They are old' });
    assert.match(await article.innerText(), /They are old/);
    await decide(article.locator(FIELD).first(), yes);
    const data = await answer();
    assert.deepEqual([data.answered, data.confirmed], [true, yes]);
  });
}

scene('a yes is never what stands there before anybody has chosen', async ({ hub, page }) => {
  const { article } = await asked(hub, page, 'human_confirm', { action: 'Delete everything' });
  const field = article.locator(FIELD).first();
  const yes = (await field.getAttribute('type')) === 'checkbox' ? await field.isChecked() : (await field.inputValue()) === 'true';
  assert.equal(yes, false);
});

scene('one that was answered elsewhere is not answered again', { javaScriptEnabled: false }, async ({ hub, page }) => {
  const { meta } = await hub.agent.call('human_input', { question: 'First?' }, 'nothing');
  const { id } = await hub.person.question(meta.run_id);
  await page.goto('/console/inbox');
  await item(page, id).locator(FIELD).first().fill('from the page');
  await hub.person.must('POST', `/questions/${id}/answer`, { answer: 'from the terminal' });
  const answer = await follow(page, item(page, id).locator('button[data-act=answer]'));
  assert.ok(answer.status() >= 400, `answered with ${answer.status()}`);
  await page.locator('[role=alert]').first().waitFor();
  assert.equal((await hub.agent.ended(meta.run_id)).answer.data.answer, 'from the terminal');
});
