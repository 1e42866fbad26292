import { COMMON, type Command } from '../command.ts'
import { cliError } from '../errors.ts'
import { flagOf } from '../input/arguments.ts'

export const SHELLS = ['bash', 'zsh', 'fish']

/** The scripts run `mailbrook __complete WORD...`, so that they are the same for every version of the program. */
const SCRIPTS: Record<string, string> = {
  bash: `_mailbrook() {
  local IFS=$'\\n'
  COMPREPLY=($(mailbrook __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _mailbrook mailbrook
`,
  zsh: `#compdef mailbrook
_mailbrook() {
  local -a found
  found=("\${(@f)$(mailbrook __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
compdef _mailbrook mailbrook
`,
  fish: `complete -c mailbrook -f -a '(mailbrook __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
}

/** @throws {MailbrookError} \`cli_error\` */
export function completionScript(shell: string): string {
  const script = SCRIPTS[shell]
  if (!script) throw cliError(`The shell must be one of ${SHELLS.join(', ')}.`)
  return script
}

/** Returns the possible completions of the last word. */
export function complete(commands: Command[], words: string[]): string[] {
  const before = words.slice(0, -1)
  const last = words.at(-1) ?? ''
  const fits = (text: string) => text.startsWith(last)
  const begun = commands.filter(
    ({ words: own }) => own.length > before.length && before.every((word, n) => own[n] === word),
  )
  const next = [...new Set(begun.map(({ words: own }) => own[before.length] as string))].filter(fits)
  if (!last.startsWith('-')) return next
  const command = commands
    .filter(({ words: own }) => own.every((word, n) => before[n] === word))
    .toSorted((one, other) => other.words.length - one.words.length)[0]
  return [...(command?.options ?? []), ...COMMON].map(({ name }) => `--${flagOf(name)}`).filter(fits)
}
