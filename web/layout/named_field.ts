/** Name of the field for a member of the n-th condition of a rule, such as `operator` or `rules_1_operator`. */
export function conditionField(n: number, member: string): string {
  return n === 0 ? member : `rules_${n}_${member}`
}

/** Name of the field for a member of the n-th variant of an A/B test. */
export function variantField(n: number, member: string): string {
  return `variants_${n}_${member}`
}

/** Returns the name of the form field that an error message names. For a step, it is a part of the configuration. */
export function namedField(message: string): string | undefined {
  const [, variant, inTest] = /^`ab_test\.(?:variants\[(\d+)\]\.)?(\w+)/.exec(message) ?? []
  if (inTest !== undefined) return variant === undefined ? inTest : variantField(Number(variant), inTest)
  const [, inStep] = /^Step `[^`]+`: `config\.([^`]+)`/.exec(message) ?? []
  if (inStep === undefined) {
    const [, n, part] = /`rules(?:\.(?:and|or)\[(\d+)\])?\.(field|operator|value)\b/.exec(message) ?? []
    return part === undefined ? /`(?:brand\.)?(\w+)/.exec(message)?.[1] : conditionField(Number(n ?? 0), part)
  }
  const [, number, member] = /^(?:filter_rule\.)?rules\[(\d+)\]\.(\w+)/.exec(inStep) ?? []
  if (number !== undefined && member !== undefined) return conditionField(Number(number), member)
  return /^(?:(?:filter_rule|until)\.)?(\w+)/.exec(inStep)?.[1]
}

/** Returns the same, but only if the message begins with the field, so that the whole message can be a link. */
export function linkedField(message: string): string | undefined {
  return /^(?:Missing |Step `[^`]+`: )?`/.test(message) ? namedField(message) : undefined
}
