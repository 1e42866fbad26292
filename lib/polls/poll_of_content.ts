import { ApiError } from '#lib/errors.ts'
import { POLL_URL } from '#lib/templates/personal_links.ts'
import { placeholders } from '#lib/templates/placeholders.ts'
import { clip } from '#lib/zod_fields.ts'
import { MAX_OPTIONS, type PollForm } from './new_poll.ts'

/** Returns the keys of the options to which a content links, each once. */
export function listPollKeys(...sources: (string | null | undefined)[]): Set<string> {
  const keys = new Set<string>()
  for (const source of sources) {
    if (!source?.includes(POLL_URL)) continue
    for (const found of placeholders(source)) {
      const key = found && pollKeyOf(found.key)
      if (key) keys.add(key)
    }
  }
  return keys
}

/** Returns the option to which a placeholder links: `great` for `poll_url:great`. Null if it is not about a poll. */
export function pollKeyOf(placeholder: string): string | null {
  return placeholder.startsWith(POLL_URL) ? placeholder.slice(POLL_URL.length) : null
}

/**
 * Returns the poll of a content that links to options with these keys: the given one, or else one with the keys as options; null
 * if there are none.
 *
 * @param question returns the question of a poll that is not given
 * @throws {ApiError} 422 if the given poll has no such option
 */
export function pollOfContent(given: PollForm | null, keys: Set<string>, question: () => string): PollForm | null {
  if (given) {
    const known = given.options.map(({ key }) => key)
    const unknown = [...keys].find(key => !known.includes(key))
    if (unknown === undefined) return given
    throw refusal(`The poll has no option for \`{{poll_url:${unknown}}}\`; its keys are ${known.map(clip).join(', ')}.`)
  }
  if (keys.size > MAX_OPTIONS) {
    throw refusal(
      `A poll can have at most ${MAX_OPTIONS} options; the content has \`{{poll_url:…}}\` with ${keys.size}.`,
    )
  }
  return keys.size === 0 ? null : { question: question(), options: [...keys].map(key => ({ key, label: key })) }
}

function refusal(message: string): ApiError {
  return new ApiError('validation_error', message)
}
