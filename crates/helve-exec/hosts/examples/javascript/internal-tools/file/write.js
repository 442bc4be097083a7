const fs = require('node:fs/promises')
const path = require('node:path')
const { inside, shown, text } = require('../index.js')

module.exports = {
  name: 'write',
  description: 'Write a text file of the project, and the folders above it. When you need to create a file or replace all of it.',
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Path of the file, relative to the project' },
      content: { type: 'string', description: 'What the file shall hold' },
    },
    required: ['path', 'content'],
  },
  risk: 'write',
  metadata: { type: 'internal', source: 'write.js' },
  handler: async (args, ctx) => {
    const file = inside(args.path)
    await fs.mkdir(path.dirname(file), { recursive: true })
    await fs.writeFile(file, args.content)
    ctx.logger.info('wrote %s', shown(file))
    return text(`wrote ${Buffer.byteLength(args.content)} bytes to ${shown(file)}`)
  },
}
