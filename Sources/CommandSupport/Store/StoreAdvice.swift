import Store
import TrackerCore

/// The advice for errors of the store, by code.
enum StoreAdvice {
    static func about(_ problem: any Problem) -> String? {
        if problem.code == "unknownBottle" { return "List the known bottles with: waterh-tracker check --doctor" }
        if problem.code == "noScratch" { return "Set TMPDIR to a directory with free space." }
        guard let error = problem as? StoreError else { return nil }
        let path = error.path
        return switch error.code {
        case "storeHasNoName": "Name a file with --store, or omit the option."
        case "folderIsClosed": "Ask its owner for access, or name another file with --store."
        case "pathLeadsNowhere": "Name another file with --store."
        case "pathIsDirectory": "Name a file, for example \(path.hasSuffix("/") ? path : path + "/")waterh.sqlite"
        case "notAnOrdinaryFile": "Name a file with --store."
        case "notReadable": "Check the permissions of the file, or name another file with --store."
        case "notADatabase": "The file was not changed. Name another file with --store, or move this one away."
        case "folderCannotBeMade": "Create the directory, or name another file with --store."
        case "foreign": "The file was not changed. Name another file with --store."
        case "schemaIsWrong":
            "Nothing was changed. Copy the file away, then restore a backup, or name another file with --store."
        case "schemaIsTooOld": "Nothing was changed. Open the store once with version 0.9: waterh-tracker status"
        case "newer": "Nothing was changed. Update waterh-bench, or name another file with --store."
        case "logLeftBehind": "Its last writer did not close it. Ask the store's owner to run: waterh-tracker status"
        case "openedToLook": "This is a bug: please report it."
        case "storeWasRemoved":
            """
            Nothing was stored. Put the file back, or restart the service to use the file at the path: \
            systemctl restart waterh-gateway
            """
        case "hasOtherNames":
            """
            Nothing was changed. Find the other name with: find / -xdev -samefile \(path)   and remove it, or copy \
            the file and name the copy with --store.
            """
        case "unreadableRow": "List all such rows with: waterh-tracker check --doctor"
        case "noBackup": "The store was not changed. Name another backup."
        case "backupIsNewer": "The store was not changed. Update waterh-bench."
        case "backupIsBusy": "The store was not changed. Try again."
        case "noSpaceForBackup": "The store was not changed. Free some space, or set TMPDIR to another disk."
        case "backupCannotBeRead": "The store was not changed. Check the file's name and its permissions."
        case "healthFileStays": "Check the permissions of its directory."
        case "diskFull": "Free some space and try again. The stored data is intact."
        case "readOnly":
            """
            Check whether the disk is mounted read-only, and the permissions of the file and of its directory, or \
            name another file with --store.
            """
        case "cannotOpen": "Check that the directory exists and is writable, or name another file with --store."
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
        case "inputOutput": "Check the disk (dmesg, free space). The stored data is intact."
        default: "Run: waterh-tracker check --doctor --store \(path)"
        }
    }
}
