import type { Words } from './words.ts'

export const nl: Words = {
  recipient: 'E-mails aan {address}',
  unsubscribe: 'Voor alles afmelden',
  unsubscribe_topic: 'Afmelden voor e-mails zoals deze',
  choose: 'Kies welke e-mails u ontvangt',
  save: 'Opslaan',
  undo: 'Ongedaan maken',
  resubscribe: 'Opnieuw aanmelden',
  unsubscribed: 'U bent afgemeld. {sender} stuurt u geen nieuwsbrieven meer.',
  unsubscribed_topic: 'U ontvangt geen e-mails zoals deze meer.',
  resubscribed: 'U bent weer aangemeld.',
  resubscribed_topic: 'U ontvangt weer e-mails zoals deze.',
  no_longer: 'U ontvangt niet meer: {topics}.',
  from_now_on: 'U ontvangt: {topics}.',
  nothing_changed: 'Er is niets gewijzigd.',
  complained:
    'U hebt een e-mail van {sender} als spam gemeld en kunt zich daarom hier niet aanmelden. Schrijf aan {sender} als u weer e-mails wilt ontvangen.',
  too_often: 'U hebt dit te vaak gewijzigd. Probeer het over een uur opnieuw.',
  send_answer: 'Antwoord versturen',
  change_answer: 'Antwoord wijzigen',
  answered: 'Bedankt. Uw antwoord is: {answer}.',
  test_poll: 'Dit is een testmail: antwoorden worden niet opgeslagen.',
  bad_link: 'Deze link werkt niet',
  bad_link_help: 'Kopieer de hele link uit de e-mail, of gebruik de link in een nieuwere e-mail.',
  unavailable: 'Deze pagina is op dit moment niet beschikbaar',
  unavailable_help: 'Er is niets gewijzigd. Probeer het over enkele seconden opnieuw.',
}
