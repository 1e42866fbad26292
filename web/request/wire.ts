/** A record as the API returns it in JSON, which has dates as texts. */
export type Wire<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Wire<Item>[]
    : Value extends object
      ? { [Name in keyof Value]: Wire<Value[Name]> }
      : Value

/** Makes of a record what the API would return of it. */
export function wire<Value>(value: Value): Wire<Value> {
  return JSON.parse(JSON.stringify(value))
}
