import type { Words } from './words.ts'

export const de: Words = {
  recipient: 'E-Mails an {address}',
  unsubscribe: 'Alles abbestellen',
  unsubscribe_topic: 'E-Mails wie diese abbestellen',
  choose: 'Wählen Sie, welche E-Mails Sie erhalten',
  save: 'Speichern',
  undo: 'Rückgängig machen',
  resubscribe: 'Wieder anmelden',
  unsubscribed: 'Sie sind abgemeldet. {sender} schickt Ihnen keine Newsletter mehr.',
  unsubscribed_topic: 'Sie erhalten keine E-Mails wie diese mehr.',
  resubscribed: 'Sie sind wieder angemeldet.',
  resubscribed_topic: 'Sie erhalten wieder E-Mails wie diese.',
  no_longer: 'Sie erhalten nicht mehr: {topics}.',
  from_now_on: 'Sie erhalten: {topics}.',
  nothing_changed: 'Es wurde nichts geändert.',
  complained:
    'Sie haben eine E-Mail von {sender} als Spam gemeldet und können sich deshalb hier nicht anmelden. Schreiben Sie an {sender}, wenn Sie wieder E-Mails erhalten möchten.',
  too_often: 'Sie haben das zu oft geändert. Versuchen Sie es in einer Stunde noch einmal.',
  send_answer: 'Antwort senden',
  change_answer: 'Antwort ändern',
  answered: 'Vielen Dank. Ihre Antwort ist: {answer}.',
  test_poll: 'Dies ist eine Test-E-Mail: Antworten werden nicht gespeichert.',
  bad_link: 'Dieser Link funktioniert nicht',
  bad_link_help: 'Kopieren Sie den ganzen Link aus der E-Mail, oder verwenden Sie den Link in einer neueren E-Mail.',
  unavailable: 'Diese Seite ist gerade nicht verfügbar',
  unavailable_help: 'Es wurde nichts geändert. Versuchen Sie es in einigen Sekunden noch einmal.',
}
