/** The name of the tag of emails that are tests of a campaign; its id is the value. */
export const CAMPAIGN_TEST = 'campaign_test'
