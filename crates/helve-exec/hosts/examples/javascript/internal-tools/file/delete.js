const fs = require('node:fs/promises')
const { inside, shown, text } = require('../index.js')

module.exports = {
  name: 'delete',
  description: 'Delete a file or a folder of the project. When something is no longer needed; a folder that is not empty needs `recursive`.',
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Path of the file or folder' },
      recursive: { type: 'boolean', default: false, description: 'Whether to delete a folder with all that it holds' },
    },
    required: ['path'],
  },
  risk: 'write',
  metadata: { type: 'internal', source: 'delete.js' },
  handler: async ({ path, recursive = false }) => {
    const target = inside(path)
    if (shown(target) === '.') throw new Error('the project itself is not deleted')
    const isFolder = (await fs.lstat(target)).isDirectory()
    if (isFolder && !recursive) await fs.rmdir(target)
    else await fs.rm(target, { recursive })
    return text(`deleted ${path}`)
  },
}
