import Store
import TrackerCore

enum StoreAdvice {
    static func about(_ problem: any Problem) -> String? {
        if problem.code == "unknownBottle" { return "See the known ones with: waterh-tracker check --doctor" }
        if problem.code == "noScratch" { return "Name a folder with space in TMPDIR." }
        guard let error = problem as? StoreError else { return nil }
        let path = error.path
        return switch error.code {
        case "storeHasNoName": "Name a file with --store, or leave the option out."
        case "folderIsClosed": "Ask its owner, or name another with --store."
        case "pathLeadsNowhere": "Name another with --store."
        case "pathIsDirectory": "Name a file, for example \(path.hasSuffix("/") ? path : path + "/")waterh.sqlite"
        case "notAnOrdinaryFile": "Name a file with --store."
        case "notReadable": "Check the permissions of the file, or name another with --store."
        case "notADatabase": "Nothing in it was changed. Name another with --store, or move this file away."
        case "folderCannotBeMade": "Make it yourself, or name a store elsewhere with --store."
        case "foreign": "Nothing in it was changed. Name another file with --store."
        case "schemaIsWrong":
            "Nothing was changed. Copy the file away, then bring back a backup, or name another file with --store."
        case "schemaIsTooOld": "Nothing was changed. Open it once with 0.9: waterh-tracker status"
        case "newer": "Nothing was changed. Update waterh-bench, or name another file with --store."
        case "logLeftBehind": "Its last writer left a log behind. Ask the store's owner to run: waterh-tracker status"
        case "openedToLook": "This is a mistake of the program: please report it."
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
        case "noBackup": "The store is as it was. Name another backup."
        case "backupIsNewer": "The store is as it was. Update waterh-bench."
        case "backupIsBusy": "The store is as it was. Try again."
        case "noSpaceForBackup": "The store is as it was. Free some space, or name a folder with space in TMPDIR."
        case "backupCannotBeRead": "The store is as it was. Check the file's name and its permissions."
        case "healthFileStays": "Check the permissions of its folder."
        case "diskFull": "Free some space and try again; what was stored before is intact."
        case "readOnly":
            """
            Check whether the disk is mounted read-only, and the permissions of the file and of its directory; or \
            name another with --store.
            """
        case "cannotOpen": "Check that the directory exists and that you may write in it, or name another with --store."
        case "busy": "Try again; if it stays so, see which process has it open with: fuser \(path)"
        case "damaged":
            "Nothing was changed. Copy the file away, then try: sqlite3 \(path) .recover | sqlite3 repaired.sqlite"
        case "perhapsKept":
            """
            Check the disk (dmesg, free space), and see whether it is there before you repeat it: waterh-tracker \
            status
            """
        case "isMounted":
            """
            Nothing was changed. Mount the folder that it lies in instead of the file, or copy the file and name \
            the copy with --store.
            """
        case "inputOutput": "Check the disk (dmesg, free space); what was stored before is intact."
        default: "Run: waterh-tracker check --doctor --store \(path)"
        }
    }
}
