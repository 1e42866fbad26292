import { z } from 'zod'

/** Fields of a poll in lists. */
export const listed = {
  object: z.literal('poll'),
  id: z.string(),
  email_id: z.string().nullable().describe('Id of the email that asks; null: several emails do.'),
  campaign_id: z.string().nullable().describe('Id of the campaign that asks.'),
  automation_id: z.string().nullable().describe('Id of the automation that asks.'),
  step: z.string().nullable().describe('Key of its step.'),
  question: z.string().describe('The question.'),
  responses_count: z.int().describe('Recipients who have answered.'),
  last_response_at: z.date().nullable().describe('When an answer was last given or changed.'),
  created_at: z.date().describe('When the email was accepted, or the campaign started.'),
}

/** A poll as GET /polls shows it. */
export const ListedPoll = z.object(listed).meta({ id: 'ListedPoll' })
export type ListedPoll = z.infer<typeof ListedPoll>

export const Answer = z
  .object({
    key: z.string().describe('Key of the option.'),
    label: z.string().describe('Its text.'),
    count: z.int().describe('Recipients whose last answer it is.'),
    percentage: z.number().describe('Their share of all who have answered, 0 to 100, with two decimals.'),
  })
  .meta({ id: 'PollAnswer' })

export const Response = z
  .object({
    email: z.string().describe('Address of the recipient.'),
    contact_id: z.string().nullable().describe('Id of the contact; null if there is none.'),
    answer: z.string().describe('Key of the option.'),
    answered_at: z.date().describe('When the recipient gave this answer.'),
  })
  .meta({ id: 'PollResponse' })

/** A poll as GET /polls/:id shows it. */
export const Poll = z
  .object({
    ...listed,
    subject: z.string().describe('Subject of the email or campaign.'),
    sent_count: z.int().describe('Recipients whose mail servers accepted the email.'),
    answers: z.array(Answer).describe('The options with their figures, in order.'),
    responses: z.array(Response).describe('The last answer of each recipient, newest first, at most 500.'),
  })
  .meta({ id: 'Poll' })
export type Poll = z.infer<typeof Poll>
