/**
 * The texts of the pages for recipients in one language. `{sender}`, `{address}`, `{topics}` (a list of names) and `{answer}`
 * are placeholders.
 */
export type Words = {
  recipient: string
  unsubscribe: string
  unsubscribe_topic: string
  choose: string
  save: string
  undo: string
  resubscribe: string
  unsubscribed: string
  unsubscribed_topic: string
  resubscribed: string
  resubscribed_topic: string
  no_longer: string
  from_now_on: string
  nothing_changed: string
  complained: string
  too_often: string
  send_answer: string
  change_answer: string
  answered: string
  test_poll: string
  bad_link: string
  bad_link_help: string
  unavailable: string
  unavailable_help: string
}
