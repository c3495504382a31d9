import Store
import TrackerCore

enum StoreAdvice {
    static func about(_ problem: any Problem) -> String? {
        if problem.code == "unknownBottle" { return "See the known ones with: waterh-tracker check --doctor" }
        if problem.code == "noScratch" { return "Set TMPDIR to a directory with free space." }
        guard let error = problem as? StoreError else { return nil }
        let path = error.path
        return switch error.code {
        case "storeHasNoName": "Name a file with --store, or omit the option."
        case "folderIsClosed": "Ask its owner, or name another with --store."
        case "pathLeadsNowhere": "Name another with --store."
        case "pathIsDirectory": "Name a file, for example \(path.hasSuffix("/") ? path : path + "/")waterh.sqlite"
        case "notAnOrdinaryFile": "Name a file with --store."
        case "notReadable": "Check the permissions of the file, or name another with --store."
        case "notADatabase": "Nothing in it was changed. Name another with --store, or move this file away."
        case "folderCannotBeMade": "Create it yourself, or name another store with --store."
        case "foreign": "Nothing in it was changed. Name another file with --store."
        case "schemaIsWrong":
            "Nothing was changed. Copy the file away, then bring back a backup, or name another file with --store."
        case "schemaIsTooOld": "Nothing was changed. Open it once with 0.9: waterh-tracker status"
        case "newer": "Nothing was changed. Update waterh-bench, or name another file with --store."
        case "logLeftBehind": "Its last writer left a WAL. Ask the store's owner to run: waterh-tracker status"
        case "openedToLook": "This is a bug: please report it."
        case "storeWasRemoved":
            """
            Nothing was stored. Put the file back, or restart the service: it then uses the file that is there \
            (systemctl restart waterh-gateway).
            """
        case "hasOtherNames":
            """
            Nothing was changed. Find the other name with: find / -xdev -samefile \(path)   and remove it, or copy \
            the file and name the copy with --store.
            """
        case "unreadableRow": "See them all with: waterh-tracker check --doctor"
        case "noBackup": "The store was not changed. Name another backup."
        case "backupIsNewer": "The store was not changed. Update waterh-bench."
        case "backupIsBusy": "The store was not changed. Try again."
        case "noSpaceForBackup": "The store was not changed. Free some space, or set TMPDIR to another disk."
        case "backupCannotBeRead": "The store was not changed. Check the file's name and its permissions."
        case "healthFileStays": "Check the permissions of its folder."
        case "diskFull": "Free some space and try again; what was stored before is intact."
        case "readOnly":
            """
            Check whether the disk is mounted read-only, and the permissions of the file and of its directory; or \
            name another with --store.
            """
        case "cannotOpen": "Check that the directory exists and is writable, or name another with --store."
        case "busy": "Try again. If the problem persists, show the process that uses it: fuser \(path)"
        case "damaged":
            "Nothing was changed. Copy the file away, then try: sqlite3 \(path) .recover | sqlite3 repaired.sqlite"
        case "perhapsKept":
            """
            Check the disk (dmesg, free space). Check whether the change is stored before you repeat it: \
            waterh-tracker status
            """
        case "isMounted":
            """
            Nothing was changed. Mount its directory instead of the file, or copy the file and name the copy with \
            --store.
            """
        case "inputOutput": "Check the disk (dmesg, free space); what was stored before is intact."
        default: "Run: waterh-tracker check --doctor --store \(path)"
        }
    }
}
