import type { Words } from './words.ts'

export const sv: Words = {
  recipient: 'E-post till {address}',
  unsubscribe: 'Avsluta alla utskick',
  unsubscribe_topic: 'Avsluta utskick som det här',
  choose: 'Välj vilken e-post du får',
  save: 'Spara',
  undo: 'Ångra',
  resubscribe: 'Prenumerera igen',
  unsubscribed: 'Din prenumeration är avslutad. {sender} skickar inga fler nyhetsbrev till dig.',
  unsubscribed_topic: 'Du får inga fler utskick som det här.',
  resubscribed: 'Du prenumererar igen.',
  resubscribed_topic: 'Du får utskick som det här igen.',
  no_longer: 'Du får inte längre: {topics}.',
  from_now_on: 'Du får: {topics}.',
  nothing_changed: 'Ingenting har ändrats.',
  complained:
    'Du har anmält ett mejl från {sender} som skräppost och kan därför inte prenumerera här. Skriv till {sender} om du vill få e-post igen.',
  too_often: 'Du har ändrat det här för ofta. Försök igen om en timme.',
  send_answer: 'Skicka svar',
  change_answer: 'Ändra svar',
  answered: 'Tack. Ditt svar är: {answer}.',
  test_poll: 'Det här är ett testmejl: svar sparas inte.',
  bad_link: 'Länken fungerar inte',
  bad_link_help: 'Kopiera hela länken från mejlet, eller använd länken i ett nyare mejl.',
  unavailable: 'Sidan är inte tillgänglig just nu',
  unavailable_help: 'Ingenting har ändrats. Försök igen om några sekunder.',
}
