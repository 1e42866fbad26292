import type { Words } from './words.ts'

export const fr: Words = {
  recipient: 'E-mails envoyés à {address}',
  unsubscribe: 'Se désabonner de tout',
  unsubscribe_topic: 'Se désabonner des e-mails de ce type',
  choose: 'Choisissez les e-mails que vous recevez',
  save: 'Enregistrer',
  undo: 'Annuler',
  resubscribe: 'Se réabonner',
  unsubscribed: 'Vous êtes désabonné. {sender} ne vous enverra plus de newsletters.',
  unsubscribed_topic: 'Vous ne recevrez plus d’e-mails de ce type.',
  resubscribed: 'Vous êtes de nouveau abonné.',
  resubscribed_topic: 'Vous recevrez de nouveau les e-mails de ce type.',
  no_longer: 'Vous ne recevrez plus : {topics}.',
  from_now_on: 'Vous recevrez : {topics}.',
  nothing_changed: 'Rien n’a été modifié.',
  complained:
    'Vous avez signalé un e-mail de {sender} comme indésirable : vous ne pouvez donc pas vous abonner ici. Écrivez à {sender} si vous souhaitez recevoir de nouveau ses e-mails.',
  too_often: 'Vous avez modifié ce choix trop souvent. Réessayez dans une heure.',
  send_answer: 'Envoyer la réponse',
  change_answer: 'Modifier la réponse',
  answered: 'Merci. Votre réponse est : {answer}.',
  test_poll: 'Ceci est un e-mail de test : les réponses ne sont pas enregistrées.',
  bad_link: 'Ce lien ne fonctionne pas',
  bad_link_help: 'Copiez le lien entier depuis l’e-mail, ou utilisez le lien d’un e-mail plus récent.',
  unavailable: 'Cette page n’est pas disponible pour le moment',
  unavailable_help: 'Rien n’a été modifié. Réessayez dans quelques secondes.',
}
