// How messages travel: four bytes of length, then JSON, on descriptors 3 and 4.
//
// Tools share this process and may change anything that is global. So whatever
// is needed later is taken here, before the first tool is loaded, and results
// are written out by hand: `JSON.stringify` would ask a changed prototype.

import fs from 'node:fs'
import net from 'node:net'

const OUT = 3
const IN = 4
export const MAX_MESSAGE = 8 * 1024 * 1024
// Readers of JSON give up on deep nesting; the message around a value takes some.
const MAX_DEPTH = 100

// ----- what is needed later -------------------------------------------------

const uncurry = Function.prototype.bind.bind(Function.prototype.call)
const { apply, ownKeys } = Reflect
const { ArrayBuffer, Map, Set, String, Number, Boolean, Error } = globalThis
const { isArray } = Array
const { isFinite } = Number
const { isView } = ArrayBuffer
const parseJson = JSON.parse
const quoteWith = JSON.stringify
const toText = String
const exec = uncurry(RegExp.prototype.exec)
const slice = uncurry(String.prototype.slice)
const join = uncurry(Array.prototype.join)
const bufferText = uncurry(Buffer.prototype.toString)
const bufferWrite = uncurry(Buffer.prototype.utf8Write ?? Buffer.prototype.write)
const bufferCopy = uncurry(Buffer.prototype.copy)
const writeLength = uncurry(Buffer.prototype.writeUInt32BE)
const readLength = uncurry(Buffer.prototype.readUInt32BE)
const sameBytes = uncurry(Buffer.prototype.equals)
const { allocUnsafe, byteLength, from: bufferFrom } = Buffer
const { writeSync, fstatSync } = fs
const { wait } = Atomics
const { reallyExit } = process
const mapEach = uncurry(Map.prototype.forEach)
const setEach = uncurry(Set.prototype.forEach)
const mapSize = uncurry(Object.getOwnPropertyDescriptor(Map.prototype, 'size').get)
const setSize = uncurry(Object.getOwnPropertyDescriptor(Set.prototype, 'size').get)
const isEnumerable = uncurry(Object.prototype.propertyIsEnumerable)

const nap = new Int32Array(new SharedArrayBuffer(4))
const LONE_SURROGATE = /\p{Surrogate}/u

/** Whether a pattern is in a text. */
export const matches = (pattern, text) => exec(pattern, text) !== null

// ----- writing --------------------------------------------------------------

/** What a value that JSON cannot hold is refused with. */
export class NotJson extends Error {}

/** Text as JSON. Half a surrogate pair is no text, and becomes `U+FFFD`. */
export function quote(text) {
  text = toText(text)
  if (matches(LONE_SURROGATE, text)) text = bufferText(bufferFrom(text, 'utf8'), 'utf8')
  return quoteWith(text)
}

/**
 * A value as JSON, never more than a message holds: it is counted while it is
 * written, so that a gigabyte is refused before there is a copy of it.
 */
export function encode(value) {
  const state = { size: 0, parts: [], ancestors: [], path: [] }
  value = settled(value, '')
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw new NotJson(`its result is a ${typeof value}, which is not JSON`)
  }
  write(value, state, 0)
  return join(state.parts, '')
}

export const tooLong = (size) => `its result is too long: ${size} bytes, at most ${MAX_MESSAGE}`

function grow(state, size) {
  state.size += size
  if (state.size > MAX_MESSAGE) throw new NotJson(tooLong(`at least ${state.size}`))
}

function put(text, state) {
  grow(state, text.length)
  state.parts[state.parts.length] = text
}

/** What stands for a value in JSON, if it says so itself. */
function settled(value, key) {
  // Bytes have a `toJSON` that makes a list of numbers of them.
  if (typeof value !== 'object' || value === null || isView(value)) return value
  return typeof value.toJSON === 'function' ? value.toJSON(key) : value
}

const isLeftOut = (value) =>
  value === undefined || typeof value === 'function' || typeof value === 'symbol'

function write(value, state, depth) {
  switch (typeof value) {
    case 'string':
      return putText(value, state)
    case 'number':
      return put(isFinite(value) ? `${value}` : 'null', state)
    case 'boolean':
      return put(value ? 'true' : 'false', state)
    case 'bigint':
      return fits(value) ? put(`${value}`, state) : putText(`${value}`, state)
    case 'object':
      break
    default:
      return put('null', state)
  }
  if (value === null) return put('null', state)
  if (depth >= MAX_DEPTH) throw new NotJson(tooDeep(state))
  state.ancestors[depth] = value
  if (isArray(value)) return writeList(value.length, (i) => value[i], state, depth)
  if (isView(value) || value instanceof ArrayBuffer) return writeBytes(value, state)
  if (value instanceof Map) return writeMap(value, state, depth)
  if (value instanceof Set) return writeSet(value, state, depth)
  if (value instanceof String || value instanceof Number || value instanceof Boolean) {
    return write(value.valueOf(), state, depth + 1)
  }
  if (value instanceof Error) {
    return writeEntries(['name', 'message'], (key) => value[key], state, depth)
  }
  const all = ownKeys(value)
  const keys = []
  for (let i = 0; i < all.length; i++) {
    if (typeof all[i] === 'string' && isEnumerable(value, all[i])) keys[keys.length] = all[i]
  }
  return writeEntries(keys, (key) => value[key], state, depth)
}

function step(state, depth, key) {
  state.path[depth] = key
  state.path.length = depth + 1
}

function writeList(length, at, state, depth) {
  put('[', state)
  for (let i = 0; i < length; i++) {
    if (i) put(',', state)
    step(state, depth, i)
    write(settled(at(i), `${i}`), state, depth + 1)
  }
  put(']', state)
}

function writeEntries(keys, at, state, depth) {
  put('{', state)
  let first = true
  for (let i = 0; i < keys.length; i++) {
    const value = settled(at(keys[i], i), keys[i])
    if (isLeftOut(value)) continue
    if (!first) put(',', state)
    first = false
    step(state, depth, keys[i])
    putText(keys[i], state)
    put(':', state)
    write(value, state, depth + 1)
  }
  put('}', state)
}

function writeMap(map, state, depth) {
  grow(state, mapSize(map))
  const keys = []
  const values = []
  mapEach(map, (value, key) => {
    const simple = typeof key !== 'object' && typeof key !== 'function' && typeof key !== 'symbol'
    if (!simple) throw new NotJson('its result has a Map with a key that is not text')
    keys[keys.length] = `${key}`
    values[values.length] = value
  })
  writeEntries(keys, (_, i) => values[i], state, depth)
}

function writeSet(set, state, depth) {
  grow(state, setSize(set))
  const items = []
  setEach(set, (item) => (items[items.length] = item))
  writeList(items.length, (i) => items[i], state, depth)
}

function putText(text, state) {
  // Before it is copied: a text is never shorter in UTF-8 than it is long.
  if (state.size + text.length > MAX_MESSAGE) grow(state, text.length)
  put(quote(text), state)
}

/** Whether an integer can be held where JSON is read as 64-bit numbers. */
const fits = (big) => big >= -(2n ** 63n) && big < 2n ** 64n

/** Bytes that are text are text; others say that they are not. */
function writeBytes(value, state) {
  const bytes = isView(value)
    ? bufferFrom(value.buffer, value.byteOffset, value.byteLength)
    : bufferFrom(value)
  if (state.size + bytes.length > MAX_MESSAGE) grow(state, bytes.length)
  const text = bufferText(bytes, 'utf8')
  if (sameBytes(bufferFrom(text, 'utf8'), bytes)) return putText(text, state)
  put(`{"base64":"${bufferText(bytes, 'base64')}"}`, state)
}

function tooDeep({ ancestors, path }) {
  for (let i = 0; i < MAX_DEPTH; i++) {
    for (let j = i + 1; j < MAX_DEPTH; j++) {
      if (ancestors[i] !== undefined && ancestors[i] === ancestors[j]) {
        let place = ''
        for (let k = i; k < j; k++) place += (place ? '.' : '') + toText(path[k])
        return `its result is circular: \`${place}\` leads back to where it stands`
      }
    }
  }
  return `its result is nested more than ${MAX_DEPTH} deep`
}

// ----- descriptors ----------------------------------------------------------

const identity = (fd) => {
  const { dev, ino } = fstatSync(fd)
  return `${dev}:${ino}`
}
const ours = `${identity(IN)} ${identity(OUT)}`

/** Ends the worker if a tool has closed its line to Helve, or put another file there. */
export function checkLine() {
  let now
  try {
    now = `${identity(IN)} ${identity(OUT)}`
  } catch {
    now = 'closed'
  }
  if (now !== ours) end(1, 'a tool closed descriptor 3 or 4, which Helve talks over')
}

/** Ends the worker, whatever a tool did to `process.exit`. */
export function end(code, why) {
  if (why) say(why)
  apply(reallyExit, process, [code])
}

/** A line for the log of the worker. */
export function say(text) {
  try {
    writeSync(2, `helve: ${text}\n`)
  } catch {
    // Nobody reads it.
  }
}

/** Sends one message, given as JSON. Returns its size if it is too long to be sent. */
export function send(json) {
  const size = byteLength(json)
  if (size > MAX_MESSAGE) return size
  const frame = allocUnsafe(size + 4)
  writeLength(frame, size, 0)
  bufferWrite(frame, json, 4)
  let at = 0
  while (at < frame.length) {
    try {
      at += writeSync(OUT, frame, at, frame.length - at)
    } catch (error) {
      if (error.code !== 'EAGAIN') end(1, `cannot write to Helve: ${error.message}`)
      wait(nap, 0, 0, 1)
    }
  }
  return 0
}

/** Gives every message that comes to `take`. Ends the worker when there are no more. */
export function listen(take) {
  const line = new net.Socket({ fd: IN, readable: true, writable: false })
  const header = Buffer.alloc(4)
  let frame = header
  let filled = 0
  line.on('data', (chunk) => {
    let at = 0
    while (at < chunk.length) {
      const copied = bufferCopy(chunk, frame, filled, at)
      at += copied
      filled += copied
      if (filled < frame.length) continue
      filled = 0
      if (frame === header) {
        frame = allocUnsafe(readLength(header, 0))
        if (frame.length > 0) continue
      }
      const message = frame
      frame = header
      take(read(message))
    }
  })
  line.on('end', () => end(0))
  line.on('error', (error) => end(1, `cannot read from Helve: ${error.message}`))
}

function read(message) {
  try {
    return parseJson(bufferText(message, 'utf8'))
  } catch (error) {
    return end(1, `Helve sent what is not JSON: ${error.message}`)
  }
}

/** Text that is short enough to be told. */
export function cut(text, most = 64 * 1024) {
  text = toText(text)
  return text.length > most ? `${slice(text, 0, most)}… (${text.length - most} more)` : text
}
