import { join } from 'node:path'
import { MailbrookError } from '../../source/error.ts'
import type { Mailbrook, NewTemplate, Template } from '../../source/index.ts'
import { fs, fsPromises } from '../builtins.ts'
import type { Call, Command } from '../command.ts'
import { cliError } from '../errors.ts'
import { decode } from '../input/read_text.ts'

/** A template as files: a folder named by its alias, or by its id if it has none. */
const FIELDS = 'template.json'
const HTML = 'body.html'
const TEXT = 'body.txt'
/** No alias looks like this. */
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const folder = {
  name: 'folder',
  description: 'A folder that contains a folder for each template, named after its alias.',
}

export const templateCommands: Command[] = [
  {
    words: ['templates', 'pull'],
    summary: 'Write all templates to files, for example to keep them in git',
    description: `Each template gets a folder, named after its alias, with ${FIELDS}, ${HTML} and, if it has its own text, ${TEXT}.`,
    operands: [folder],
    options: [],
    examples: ['mailbrook templates pull templates'],
    run: pull,
  },
  {
    words: ['templates', 'push'],
    summary: 'Create and change templates from files that `templates pull` wrote',
    description: 'Templates that are not in the folder stay as they are. Emails use a change once it is published.',
    operands: [folder],
    options: [
      { name: 'publish', type: 'flag', description: 'Publish the templates whose newest version is not published.' },
    ],
    examples: ['mailbrook templates push templates', 'mailbrook templates push templates --publish'],
    run: push,
  },
]

async function pull({ client, operands, output, signal }: Call): Promise<void> {
  const api = client()
  const root = operands[0] as string
  for await (const { id, alias } of api.templates.list({}, { signal })) {
    // Lists do not contain html and text.
    const template = await api.templates.get(id, { signal })
    const name = alias ?? id
    await fsPromises().mkdir(join(root, name), { recursive: true })
    for (const [file, text] of Object.entries(filesOf(template))) {
      const path = join(root, name, file)
      if (text === null) await fsPromises().rm(path, { force: true })
      else await fsPromises().writeFile(path, text)
    }
    output.items([{ name, id, status: template.status }])
  }
}

function filesOf({ name, subject, from, reply_to, variables, html, text }: Template): Record<string, string | null> {
  const fields = { name, subject: subject || null, from: from || null, reply_to, variables: variables.map(given) }
  return { [FIELDS]: `${JSON.stringify(fields, null, 2)}\n`, [HTML]: html, [TEXT]: text }
}

/** Returns a variable without the fields that the server adds. */
function given({ key, type, fallback_value }: Template['variables'][number]) {
  return { key, type, fallback_value }
}

async function push({ client, operands, values, output, signal }: Call): Promise<void> {
  const api = client()
  const root = operands[0] as string
  const entries = await fsPromises()
    .readdir(root, { withFileTypes: true })
    .catch(error => {
      throw cliError(`${root} cannot be read: ${error.message}`, error)
    })
  const names = entries.filter(entry => entry.isDirectory() && fs().existsSync(join(root, entry.name, FIELDS)))
  if (names.length === 0) throw cliError(`${root} has no folder with a ${FIELDS}.`)
  // All files are read and all templates are found before the first change, so that a mistake in one of them changes nothing.
  const files = await Promise.all(names.map(async ({ name }) => ({ name, ...(await readFiles(join(root, name))) })))
  const folders: Folder[] = []
  for (const file of files) folders.push({ ...file, known: await findTemplate(api, file.name, signal) })
  for (const folder of folders) {
    const { name } = folder
    const { id, action, is_published } = await save(api, folder, signal)
    const publishes = values.publish === true && !is_published
    if (publishes) await api.templates.publish(id, { signal })
    const actions = [...(publishes && action === 'unchanged' ? [] : [action]), ...(publishes ? ['published'] : [])]
    output.items([{ name, id, action: actions.join(' and ') }])
  }
}

type Files = { fields: NewTemplate; found: Record<string, string | null> }
type Folder = Files & { name: string; known: Template | null }

async function readFiles(path: string): Promise<Files> {
  const read = async (file: string) => linesOf(decode(await fsPromises().readFile(join(path, file))))
  const found = {
    [FIELDS]: await read(FIELDS),
    [HTML]: await read(HTML).catch(error => {
      throw cliError(`${join(path, HTML)} cannot be read: ${error.message}`, error)
    }),
    [TEXT]: fs().existsSync(join(path, TEXT)) ? await read(TEXT) : null,
  }
  try {
    const fields = { ...JSON.parse(found[FIELDS] as string), html: found[HTML], text: found[TEXT] }
    return { fields, found }
  } catch (error) {
    throw cliError(`${join(path, FIELDS)} must be JSON: ${(error as Error).message}`, error)
  }
}

/** `is_published`: the newest version is. An earlier push may have changed the template without publishing it. */
type Saved = { id: string; action: 'created' | 'updated' | 'unchanged'; is_published: boolean }

async function findTemplate(api: Mailbrook, name: string, signal: AbortSignal): Promise<Template | null> {
  const known = await api.templates.get(name, { signal }).catch(error => {
    if (MailbrookError.is(error, 'not_found')) return null
    throw error
  })
  if (!known && ID.test(name))
    throw cliError(`The server has no template with the id ${name}: rename its folder to an alias.`)
  return known
}

async function save(api: Mailbrook, { name, fields, found, known }: Folder, signal: AbortSignal): Promise<Saved> {
  if (!known) {
    const { id } = await api.templates.create({ ...fields, alias: name }, { signal })
    return { id, action: 'created', is_published: false }
  }
  const files = filesOf(known)
  const isSame = (file: string) => linesOf(files[file] ?? null) === found[file]
  const isEqual = isSame(HTML) && isSame(TEXT) && sameJson(files[FIELDS], found[FIELDS])
  if (!isEqual) await api.templates.update(known.id, fields, { signal })
  const is_published = isEqual && known.status === 'published' && !known.has_unpublished_versions
  return { id: known.id, action: isEqual ? 'unchanged' : 'updated', is_published }
}

/** Returns text with the ends of lines that it has on the server: on Windows, git writes CRLF into files. */
function linesOf<Text extends string | null>(text: Text): Text {
  return (text?.replaceAll('\r\n', '\n') ?? null) as Text
}

/** Compares two JSON texts, ignoring indentation. */
function sameJson(one: string | null | undefined, other: string | null | undefined): boolean {
  return JSON.stringify(JSON.parse(one ?? 'null')) === JSON.stringify(JSON.parse(other ?? 'null'))
}
