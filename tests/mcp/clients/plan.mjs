// What the TypeScript clients share: the plan, and the person who is asked.

export const plan = JSON.parse(process.argv[2]);
export const seen = { asked: 0, tools: [], pages: 0, answers: [] };

/** The answer to a question: what the plan says, with something in every field. */
export function person(request) {
  seen.asked += 1;
  if (plan.elicit !== 'accept') return { action: plan.elicit };
  const fields = request.params.requestedSchema?.properties ?? {};
  const content = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, fill(field)]));
  return { action: 'accept', content };
}

function fill(field) {
  if ('default' in field) return field.default;
  if (field.enum) return field.enum[0];
  return { boolean: true, integer: 1, number: 1 }[field.type] ?? 'somebody';
}

/** Lists all pages, makes the calls, and prints what was seen. */
export async function work(client, list) {
  let cursor;
  do {
    const page = await list(cursor);
    seen.pages += 1;
    seen.tools.push(...page.tools.map((tool) => tool.name));
    cursor = page.nextCursor;
  } while (cursor);
  for (const { tool, arguments: args } of plan.calls) {
    const result = await client(tool, args);
    const text = result.content.filter((block) => block.type === 'text').map((block) => block.text);
    seen.answers.push({ text: text.join('\n'), error: result.isError === true });
  }
}
