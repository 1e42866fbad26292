/** A record as the API returns it in JSON, where dates are strings. */
export type Wire<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Wire<Item>[]
    : Value extends object
      ? { [Name in keyof Value]: Wire<Value[Name]> }
      : Value

/** Converts a record to the form that the API returns. */
export function wire<Value>(value: Value): Wire<Value> {
  return JSON.parse(JSON.stringify(value))
}
