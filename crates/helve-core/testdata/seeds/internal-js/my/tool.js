/**
 * 新工具的样板；这里的名字已经带上了前缀和分组。
 */
const myTool = {
  name: 'internal_my_tool',
  description: "演示怎样写一个新工具",
  inputSchema: {
    type: 'object',
    properties: {
      param1: { type: 'string', description: '第一个参数，例如 \'a\'' },
    },
    required: ['param1'],
  },
  async handler(args, ctx) {
    const { param1 } = args
    ctx.logger.info(`收到 ${param1}`)
    const answer = { length: param1.length, upper: param1.toUpperCase() }
    return {
      content: [{ type: 'text', text: JSON.stringify(answer) }],
    }
  },
}

module.exports = myTool
