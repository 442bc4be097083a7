// {{NAME}}: a tool of Helve. `helve test {{NAME}}` runs its examples,
// `helve call {{NAME}} text='one two'` calls it.

module.exports = {
  name: '{{ACTION}}',
  description: 'Counts the words and letters of a text. Use it to know how long a text is.',
  risk: 'read',
  inputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string', description: 'The text' },
    },
    required: ['text'],
    additionalProperties: false,
  },
  examples: [
    { scenario: 'Two words', params: { text: 'one two' }, expected: '{"words": 2, "letters": 6}' },
  ],

  // `ctx.logger` writes to the log of the run, `ctx.service.<group>.<action>(args)` calls
  // another tool.
  handler: async ({ text }, ctx) => {
    const words = text.split(/\s+/).filter(Boolean)
    ctx.logger.debug('%d words', words.length)
    return { words: words.length, letters: words.join('').length }
  },
}
