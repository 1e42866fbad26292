/** Name of the field of a member of the n-th condition of a rule. A rule that is one condition names its members alone. */
export function conditionField(n: number, member: string): string {
  return n === 0 ? member : `rules_${n}_${member}`
}

/** Name of the field that an error is about, in the form of its page: of a step, that of the part of its configuration. */
export function namedField(message: string): string | undefined {
  const [, inStep] = /^Step `[^`]+`: `config\.([^`]+)`/.exec(message) ?? []
  if (inStep === undefined) return /`(\w+)/.exec(message)?.[1]
  const [, number, member] = /^(?:filter_rule\.)?rules\[(\d+)\]\.(\w+)/.exec(inStep) ?? []
  if (number !== undefined && member !== undefined) return conditionField(Number(number), member)
  return /^(?:(?:filter_rule|until)\.)?(\w+)/.exec(inStep)?.[1]
}

/** The same, if the error begins with it: then a link can stand for the sentence. */
export function linkedField(message: string): string | undefined {
  return /^(?:Missing |Step `[^`]+`: )?`/.test(message) ? namedField(message) : undefined
}
