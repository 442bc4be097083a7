'use strict'

const fs = require('fs/promises')
const path = require('path')

// 读文件：名字只写操作，分组就是所在的文件夹
const readTool = {
  name: 'read',
  description: '读出一个文件的内容',
  inputSchema: {
    type: 'object',
    properties: {
      path: {
        type: 'string',
        description: '哪个文件',
      },
    },
    required: ['path'],
  },
  handler: async (args, ctx) => {
    const root = await fs.realpath(ctx.root)
    const target = await fs.realpath(path.resolve(root, args.path))
    if (!`${target}/`.startsWith(`${root}/`)) {
      throw new Error(`不在项目里: ${args.path}`)
    }
    /* 花括号 } 和引号 ' 出现在注释里也没有关系 */
    const text = await fs.readFile(target, 'utf8')
    return { content: [{ type: 'text', text }] }
  },
  metadata: {
    type: 'internal',
    source: 'read.js',
  },
}

module.exports = readTool
