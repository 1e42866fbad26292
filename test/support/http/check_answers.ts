import { Readable } from 'node:stream'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { z } from 'zod'
import type { App } from '#api/app.ts'
import { errorsOf } from '#api/openapi/errors.ts'
import { answerSchema } from '#api/openapi/json_schema.ts'
import type { Operation } from '#api/operations/operation.ts'
import { routesOf } from '#api/operations/router.ts'
import { operations } from '#api/routes/index.ts'
import { isPlainMessage } from './message_form.ts'

// Each schema checks few responses: to optimize its code would take longer than it saves.
const ajv = new Ajv2020({ strict: false, allErrors: true, code: { optimize: false } })
addFormats.default(ajv)
const validators = new Map<z.ZodType, ValidateFunction>()

const routes = routesOf(operations).map(one => ({
  ...one,
  pattern: new RegExp(`^/api${one.path.replaceAll(/:\w+/g, '[^/]+')}/?$`, 'i'),
}))

/**
 * Checks each response of an app against its operation: strictly by the schema of its status, or by the names of its errors.
 * Returns a function that fails if any response did not match, to be called at the end.
 */
export function checkAnswers(app: App): () => void {
  const faults = new Set<string>()
  app.middleware.unshift(async (ctx, next) => {
    await next()
    const { method, path, status } = ctx
    const asked = method === 'HEAD' ? 'GET' : method
    const one = routes.find(route => route.method === asked && route.pattern.test(path.replaceAll(/\/{2,}/g, '/')))
    const fault = one && faultOf(one, status, ctx.body)
    if (fault) faults.add(`${one.method} ${one.path} ${status}: ${fault}`)
  })
  return () => {
    if (faults.size === 0) return
    console.error(`Responses differ from the declared ones:\n${[...faults].join('\n')}`)
    process.exitCode = 1
  }
}

function faultOf(one: Operation, status: number, body: unknown): string | null {
  const answer = one.answers[status]
  if (!answer) return faultOfError(one, JSON.parse(textOf(body)))
  if (!(answer instanceof z.ZodType) || (one.file && body instanceof Readable)) return null
  const validate = validators.get(answer) ?? ajv.compile(answerSchema(answer))
  validators.set(answer, validate)
  return validate(JSON.parse(textOf(body))) ? null : ajv.errorsText(validate.errors)
}

type ErrorAnswer = { statusCode: number; name: string; message: string }

function faultOfError(one: Operation, { statusCode, name, message }: ErrorAnswer): string | null {
  const isDeclared = errorsOf(one).some(error => error.name === name && error.status === statusCode)
  if (!isDeclared) return `${name} is not declared`
  return isPlainMessage(message) ? null : `the message is not a plain sentence: ${message}`
}

function textOf(body: unknown): string {
  return typeof body === 'string' || Buffer.isBuffer(body) ? String(body) : JSON.stringify(body)
}
