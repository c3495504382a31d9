import TrackerCore

/// What can be done about a problem on this command line, by its code. Other surfaces have other tables.
enum Advice {
    static func about(_ problem: any Problem) -> String? { about(code: problem.code) }

    static func about(code: String) -> String? {
        switch code {
        case "noSuchDrink": "See the numbers with: waterh-tracker history --day today"
        case "noSuchEntry": "See them with: waterh-tracker session show"
        case "noSuchPreset": "See them with: waterh-tracker preset list"
        case "noSuchRecord", "notARecord": "See them with: waterh-tracker journal list"
        case "noSuchSetting": "See the names with: waterh-tracker settings get"
        case "recordIsDated": "A drink is changed with: waterh-tracker edit"
        case "sessionEntry": "Use --estimate, --oz or --at."
        case "noSessionEntry": "Use --ml or --at."
        case "notATime": "Write 2026-06-15T14:00:00Z, 2026-06-15T14:00 in your zone, or 14:00."
        case "notADay": "Write today, yesterday or 2026-06-15."
        case "notAMonth": "Write 2026-06."
        case "clock": "Look at the date (timedatectl), or pass --now."
        case "unanswered": "Ask nothing with: waterh-tracker setup --yes"
        case "compressedFile": "Nothing was imported. Unpack it, or: gunzip -c FILE | waterh-tracker import -"
        case "databaseFile": "Nothing was imported. A backup of a store is read by: waterh-tracker restore FILE"
        case "badHealthFile": "Nothing was imported."
        case "syncTrouble": "Try again when the server is there, or unset sync.url."
        default: nil
        }
    }
}
