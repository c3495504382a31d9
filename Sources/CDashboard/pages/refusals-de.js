// Error messages of the service and rules of settings in German, by patterns of the English sentences.
const komma = (zahl) => zahl.replace('.', ',');
const einheit = (wort) => ({ "o'clock": 'Uhr', hours: 'Stunden', seconds: 'Sekunden', minutes: 'Minuten', days: 'Tagen', drinks: 'Getränken', glasses: 'Gläsern', percent: 'Prozent' })[wort] ?? wort;
const mitEinheit = (wort) => (wort ? ` ${einheit(wort)}` : '');
const oderNichts = (ende) => (ende ? ', oder nicht gesetzt' : '');

export default [
  // Settings
  [/^It must be yes or no \(also on or off, true or false\)\.$/, 'Es muss an oder aus sein.'],
  [/^It must be a full hour from (\d+) to (\d+), or unset\.$/, 'Es muss eine volle Stunde von $1 bis $2 sein, oder nicht gesetzt.'],
  [/^It must be a time from (\S+) to (\S+) in steps of 15 minutes(, or unset)?\.$/, (_, von, bis, ende) => `Es muss eine Zeit von ${von} bis ${bis} in Schritten von 15 Minuten sein${oderNichts(ende)}.`],
  [/^It must be (?:a whole number|a number) from (\S+) to ([\d.]+)(?: (\S+?))?(?: in steps of ([\d.]+))?(?: \((\S+) (\S+) to (\S+) \S+\))?\.$/, (_, von, bis, wort, schritt, least, unit, most) =>
    `Es muss eine Zahl von ${komma(von)} bis ${komma(bis)}${mitEinheit(wort)} sein${schritt ? `, in Schritten von ${komma(schritt)}` : ''}${unit ? ` (${komma(least)} bis ${komma(most)} ${unit})` : ''}.`],
  [/^It must be (\d+) to (\d+) glasses\.$/, 'Es müssen $1 bis $2 Gläser sein.'],
  [/^It must be 1 to 12 amounts from 1 to 2000 ml, with commas between, and a point in 8\.5oz\.$/, 'Es müssen 1 bis 12 Mengen von 1 bis 2000 ml sein, mit Kommas dazwischen und einem Punkt in 8.5oz.'],
  [/^It must be one of ([\d., ]*\d)(?: ([a-z]+))?\.$/, (_, werte, wort) => `Es muss eines von diesen sein: ${werte}${mitEinheit(wort)}.`],
  [/^It must be one of (.+)\.$/, 'Es muss eines von diesen sein: $1.'],
  [/^It must be ml, l or oz, or unset\.$/, 'Es muss ml, l oder oz sein, oder nicht gesetzt.'],
  [/^It must be u8 or u16be, or unset to follow the dialect\.$/, 'Es muss u8 oder u16be sein; nicht gesetzt folgt es der Art der Einträge.'],
  [/^It must be an IANA time zone such as Europe\/Berlin, or "system"\.$/, 'Es muss eine IANA-Zeitzone wie Europe/Berlin sein, oder „system“.'],
  [/^It must be a name of 1 to 64 printable characters, or unset\.$/, 'Es muss ein Name von 1 bis 64 druckbaren Zeichen sein, oder nicht gesetzt.'],
  [/^It must be 1 to 4096 printable characters, or unset\.$/, 'Es müssen 1 bis 4096 druckbare Zeichen sein, oder nicht gesetzt.'],
  [/^It must be 1 to 4096 visible ASCII characters without blanks, or unset\.$/, 'Es müssen 1 bis 4096 sichtbare ASCII-Zeichen ohne Leerzeichen sein, oder nicht gesetzt.'],
  [/^It must be the id of one of your presets, or unset\.$/, 'Es muss eine deiner Vorlagen sein, oder nicht gesetzt.'],
  [/^It must be the absolute path of a (directory|file), or unset\.$/, (_, was) => `Es muss der ganze Pfad ${was === 'directory' ? 'eines Ordners' : 'einer Datei'} sein, der mit / beginnt, oder nicht gesetzt.`],
  [/^It must be an address and a port, such as (\S+)\.$/, 'Es müssen eine Adresse und ein Port sein, etwa $1.'],
  [/^It must be an address that begins with (\S+) or (\S+), without user and password(?: \((\S+) and (\S+) hold them\))?, or unset\.$/, (_, eine, andere, name, wort) =>
    `Es muss eine Adresse sein, die mit ${eine} oder ${andere} beginnt, ohne Benutzer und Passwort${name ? ` (dafür sind ${name} und ${wort})` : ''}, oder nicht gesetzt.`],
  [/^It must be the address of a topic, such as https:\/\/ntfy\.example\/my-water: .*; or unset\.$/, 'Es muss die Adresse eines Themas sein, etwa https://ntfy.example/mein-wasser: mit http:// oder https://, ohne Benutzer und Kennwort, und hinter dem letzten / ein Thema aus 1 bis 64 Buchstaben, Ziffern, - und _; oder nicht gesetzt.'],
  [/^It must be the address of a server that begins with http:\/\/ or https:\/\/, without user and password, without \? and #, or unset\.$/, 'Es muss die Adresse eines Servers sein, die mit http:// oder https:// beginnt, ohne Benutzer und Kennwort, ohne ? und #, oder nicht gesetzt.'],
  [/^It must be names of Apple Health sources, separated by commas, or unset\.$/, 'Es müssen Namen von Quellen in Apple Health sein, mit Kommas getrennt, oder nicht gesetzt.'],
  [/^It must be a topic of 1 to 64 printable characters without \+, # and without \/ at its ends\.$/, 'Es muss ein Thema von 1 bis 64 druckbaren Zeichen sein, ohne + und # und ohne / am Anfang oder Ende.'],
  [/^It belongs to a person's day or to the service: one bottle cannot have its own\.$/, 'Es gehört zum Tag einer Person oder zum Dienst: eine Flasche kann kein eigenes haben.'],
  [/^"(.+)" names a file or folder of the machine where the service runs: it is set there only\.$/, '„$1“ nennt eine Datei oder einen Ordner auf der Maschine des Dienstes: es wird nur dort gesetzt.'],

  // Drinks
  [/^([\d.,]+) (ml|l|oz) is outside the range of one drink: (\d+)–(\d+) ml(?: \(up to (\S+) \S+\))?\.$/, (_, menge, wort, von, bis, most) => `${komma(menge)} ${wort} ist keine Menge eines Getränks: ${von}–${bis} ml${most ? ` (bis ${komma(most)} ${wort})` : ''}.`],
  [/^"?(.+?)"? is in the future: a drink is logged after it was drunk\.$/, '$1 liegt in der Zukunft: ein Getränk wird eingetragen, wenn es getrunken ist.'],
  [/^There is no drink (?:".*"|\S+)\.$/, 'Dieses Getränk gibt es nicht mehr.'],
  [/^Not undone: a newer change was made: (.+)\.$/, 'Danach wurde noch etwas geändert, darum wurde nichts zurückgenommen: $1.'],
  [/^This computer's clock says (\S+), but the store has data of (\S+)\. Nothing was dated by this clock\.$/, 'Die Uhr dieses Rechners sagt $1, aber um $2 kam schon etwas an: nach ihr wird nichts datiert.'],

  [/^The day must begin \(day\.boundaryHour\) no later than the first waking hour\.$/, 'Der Tag muss spätestens mit der ersten wachen Stunde beginnen (day.boundaryHour).'], [/^Waking must come before sleeping on the same date\.$/, 'Aufstehen muss vor dem Schlafen liegen.'],
  [/^(.+) is before (\d\d):00: on this day, that is the next morning, which is in the future\.$/, '$1 liegt vor $2:00: an diesem Tag ist das der Morgen danach, also in der Zukunft.'],
  [/^A sample of the file is dated in the future \((\S+)\)\. .*$/, 'Ein Eintrag der Datei liegt in der Zukunft ($1). Nichts wurde importiert. Berichtige sein Datum oder die Uhr des Rechners mit dem Dienst.'],
  // Files; each message of an import ends with "Nothing was imported."
  [/^(?:Line \d+: )?(?:The file is empty|The document has no element: the file is truncated or not XML)\..*$/, 'Die Datei ist leer oder abgeschnitten. Nichts wurde importiert.'],
  [/^(?:Line \d+: )?The document has no HealthData element: .*$/, 'Die Datei ist abgeschnitten oder kein Export von Apple Health. Nichts wurde importiert.'],
  [/^(?:Line \d+: )?.* file is truncated or not XML\..*$/, 'Die Datei ist abgeschnitten oder kein XML. Nichts wurde importiert.'],
  [/^(?:Line \d+: )?The file is not a health file: .*$/, 'Das ist keine Datei mit Getränken: erwartet wird XML, JSON oder CSV mit einer Zeile der Spaltennamen. Nichts wurde importiert.'],
  [/^(?:The JSON is incomplete|The JSON must be a list of drinks with startDate and value_ml|Entry \d+ of the list).*$/, 'Das JSON ist keine ganze Liste von Getränken mit startDate und value_ml. Nichts wurde importiert.'],
  [/^The ZIP archive is encrypted\..*$/, 'Das ZIP-Archiv ist verschlüsselt: pack es erst aus. Nichts wurde importiert.'],
  [/^This ZIP archive contains no Apple Health export\..*$/, 'Das ZIP-Archiv enthält keinen Export von Apple Health. Nichts wurde importiert.'],
  [/^The (?:ZIP archive|UTF-16) is .*$/, 'Die Datei ist abgeschnitten oder beschädigt. Nichts wurde importiert.'],
  [/^The unpacked ZIP archive is larger than the limit\..*$/, 'Das ausgepackte ZIP-Archiv ist zu groß. Nichts wurde importiert.'],
  [/^The file is longer than (\d+) MiB\..*$/, 'Die Datei hat mehr als $1 MiB: teile sie in mehrere Dateien. Nichts wurde importiert.'],
  [/^The file is compressed with gzip\..*$/, 'Das ist mit gzip gepackt: pack es erst aus. Nichts wurde importiert.'],
  [/^The file is a database, not a list of drinks\..*$/, 'Das ist eine Datenbank und keine Liste von Getränken. Nichts wurde importiert.'],
  [/^(?:Line \d+: )?The text is not UTF-8\..*$/, 'Die Datei ist kein Text in UTF-8: speichere sie als UTF-8. Nichts wurde importiert.'],
  [/^(?:Line (\d+): )?A quoted field does not end: .*$/, 'Ein Feld in Anführungszeichen endet nicht: die Datei ist abgeschnitten. Nichts wurde importiert.'],
  [/^Line (\d+): (.+) Nothing was imported\.$/, 'Zeile $1: $2 Nichts wurde importiert.'],

  // Waterline
  [/^The time must be within the session\.$/, 'Die Zeit muss in den Abend fallen.'], [/^The estimate must be a number from 0\.1 to 10 standard drinks\.$/, 'Es müssen 0,1 bis 10 Standardgetränke sein.'],
  [/^There is no active session\. Start one first\.$/, 'Es läuft kein Abend. Beginne zuerst einen.'], [/^There is no session yet\.$/, 'Es gab noch keinen Abend.'], [/^There is no ended session\.$/, 'Kein Abend ist beendet.'],
  [/^There is no entry ".*"\.$/, 'Diesen Eintrag gibt es nicht mehr.'],
  [/^A water's volume must be more than 0 and at most 100 oz\.$/, 'Ein Wasser hat mehr als 0 und höchstens 100 oz.'],
  [/^A preset's name must have 1 to 64 printable characters\.$/, 'Der Name einer Vorlage hat 1 bis 64 druckbare Zeichen.'], [/^There already is a preset named "(.+)"\.$/, 'Eine Vorlage „$1“ gibt es schon.'],
  [/^A preset's size must be more than 0 and at most 100 oz\.$/, 'Die Größe einer Vorlage ist mehr als 0 und höchstens 100 oz.'], [/^A preset's strength must be 0 to 100 percent by volume\.$/, 'Die Stärke einer Vorlage ist 0 bis 100 Prozent.'],
  [/^There is no preset ".*"\.$/, 'Diese Vorlage gibt es nicht mehr.'],
  [/^This session is finished and can no longer be changed\.$/, 'Dieser Abend ist beendet und lässt sich nicht mehr ändern.'],
  [/^This water comes from the bottle's sips: it can be excluded, not edited\.$/, 'Dieses Wasser kommt aus den Schlucken der Flasche: es lässt sich ausschließen, aber nicht ändern.'],
  [/^A drink's or a water's size must be more than 0 and at most 100 oz\.$/, 'Die Menge ist mehr als 0 und höchstens 100 oz.'],
  [/^A drink's strength must be 0 to 100 percent by volume\.$/, 'Die Stärke eines Getränks ist 0 bis 100 Prozent.'],
  [/^Waterline is disabled for other machines\. Enable it in the configuration\.$/, 'Waterline ist für andere Rechner ausgeschaltet. Schalte es in der Konfiguration ein.'],

  // Access and conflicts
  [/^This request needs a token with the scope "(.+)"\.$/, 'Dafür braucht es einen Schlüssel mit dem Recht „$1“.'],
  [/^Not signed in: this request needs a token\..*$/, 'Nicht angemeldet: dafür braucht es einen Schlüssel. „waterh-tracker token new“ macht einen; ein Browser meldet sich mit „waterh-gateway open“ an.'],
  [/^This token is unknown, revoked or expired \(90 days without use\)\..*$/, 'Dieser Schlüssel ist unbekannt, entzogen oder wurde 90 Tage nicht benutzt.'], [/^No valid token has this ID\.$/, 'Einen solchen gültigen Schlüssel gibt es nicht.'],
  [/^The service is stopping\.$/, 'Der Dienst wird gerade beendet.'], [/^A request failed with an unknown error\.$/, 'Eine Anfrage ist an einem unbekannten Fehler gescheitert.'],
  [/^The body (?:did not arrive within|arrived too slowly).*$/, 'Die Daten kamen zu langsam an. Versuch es noch einmal.'],
  [/^The server at (.+) cannot be reached: .*$/, 'Der Server $1 ist nicht erreichbar.'], [/^The server at (.+) did not answer in (\d+) s\.$/, 'Der Server $1 hat in $2 s nicht geantwortet.'],
  [/^The certificate of (.+) is not valid: .*$/, 'Das Zertifikat von $1 ist ungültig.'], [/^The (?:response of|exchange with) (https?:.+?)(?: is longer than the limit| is not HTTP| failed: .*)\.$/, 'Der Austausch mit dem Server $1 ist gescheitert.'],
  [/^The server at (.+) (?:requires a|rejects the) token \(status (\d+)\): .*$/, 'Der Server $1 lehnt das Token ab (Status $2): setze sync.token oder sync.tokenFile.'],
  [/^The server at (.+) answered (.+) with status (\d+)\.$/, 'Der Server $1 hat auf $2 mit dem Status $3 geantwortet.'],
  [/^The server at (.+) sent an invalid response to .*$/, 'Der Server $1 hat ungültig geantwortet: vielleicht ist es kein Server für Sync, oder dieses Netz verlangt eine Anmeldung.'],
  [/^No sync server is set\. .*$/, 'Kein Server für Sync ist gesetzt. Setze zuerst sync.url.'], [/^This service cannot scan for bottles\.$/, 'Dieser Dienst kann nicht nach Flaschen suchen.'],
  [/^The same request is in progress\.$/, 'Diese Anfrage läuft gerade.'],
  [/^Outcome unknown: the service stopped during this request\..*$/, 'Ergebnis unbekannt: Der Dienst endete während dieser Anfrage. Prüfe den Stand und wiederhole sie nur, wenn nötig.'],
  [/^This (.+) was used for another request\.$/, '$1 wurde schon für eine andere Anfrage verwendet.'],
  [/^This notification belongs to an ended session\. Its buttons no longer work\.$/, 'Diese Mitteilung gehört zu einem beendeten Abend. Ihre Knöpfe wirken nicht mehr.'],
  [/^This notification has expired \(1 day\)\. Its buttons no longer work\.$/, 'Diese Mitteilung ist abgelaufen (1 Tag). Ihre Knöpfe wirken nicht mehr.'], [/^This notification no longer exists\. Nothing was changed\.$/, 'Diese Mitteilung gibt es nicht mehr. Nichts wurde geändert.'],
  [/^This service does not poll a bottle\.$/, 'Dieser Dienst fragt keine Flasche ab.'], [/^No bottle is known as "(.+)"\.$/, 'Eine Flasche „$1“ ist nicht bekannt.'],
  [/^"(.+)" is already another bottle with its own history\.(?: Choose another name\.)?$/, '„$1“ heißt schon eine andere Flasche mit eigenen Einträgen.'],
  [/^Too many clients read the events\. Try again in a minute\.$/, 'Zu viele Seiten sind offen. Versuch es in einer Minute noch einmal.'], [/^Two uploads are in progress\. Try again in a minute\.$/, 'Zwei Dateien werden gerade hochgeladen. Versuch es in einer Minute noch einmal.'],
  [/^The file is larger than (\d+) MiB\..*$/, 'Die Datei ist größer als $1 MiB. Importiere sie mit: waterh-tracker import FILE'],
  [/^The body is limited to (\d+) bytes\.$/, 'Es dürfen höchstens $1 Bytes sein.'], [/^(?:No space is left|Creating a temporary (?:file|directory)) .*$/, 'Auf dem Rechner mit dem Dienst ist kein Platz.'],
];
