const { inside, text } = require('../index.js')

module.exports = {
  name: 'analyze',
  description: 'Count lines, comments and functions of a JavaScript file. When you need an impression of it before you read it.',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string', description: 'Path of the file' } },
    required: ['path'],
  },
  risk: 'read',
  metadata: { type: 'internal', source: 'analyze.js' },
  // Through another tool of the hub, so that its rules for reading hold here, too.
  handler: async ({ path }, ctx) => {
    inside(path)
    const answer = await ctx.service.file.read({ path })
    const source = answer?.content?.[0]?.text ?? String(answer)
    const lines = source.split('\n')
    return text({
      lines: lines.length,
      empty: lines.filter((line) => line.trim() === '').length,
      comments: lines.filter((line) => /^\s*(\/\/|\/?\*)/.test(line)).length,
      functions: (source.match(/\bfunction\b|=>/g) ?? []).length,
    })
  },
}
