import type { Words } from './words.ts'

export const en: Words = {
  recipient: 'Emails to {address}',
  unsubscribe: 'Unsubscribe from everything',
  unsubscribe_topic: 'Unsubscribe from emails like this one',
  choose: 'Choose the emails that you get',
  save: 'Save',
  undo: 'Undo',
  resubscribe: 'Subscribe again',
  unsubscribed: 'You are unsubscribed. {sender} will send you no more newsletters.',
  unsubscribed_topic: 'You will get no more emails like this one.',
  resubscribed: 'You are subscribed again.',
  resubscribed_topic: 'You will get emails like this one again.',
  no_longer: 'You will no longer get: {topics}.',
  from_now_on: 'You will get: {topics}.',
  nothing_changed: 'Nothing was changed.',
  complained:
    'You reported an email from {sender} as spam, so you cannot subscribe here. Write to {sender} if you want its emails again.',
  too_often: 'You have changed this too often. Try again in an hour.',
  send_answer: 'Send answer',
  change_answer: 'Change answer',
  answered: 'Thank you. Your answer is: {answer}.',
  test_poll: 'This is a test email: answers are not stored.',
  bad_link: 'This link does not work',
  bad_link_help: 'Copy the whole link from the email, or use the link in a newer email.',
  unavailable: 'This page is not available at the moment',
  unavailable_help: 'Nothing was changed. Try again in a few seconds.',
}
