/** For to_timestamp(): not as text, as Postgres has no year 0. */
export function seconds(moment: Date | undefined): number | null {
  return moment ? moment.getTime() / 1_000 : null
}
