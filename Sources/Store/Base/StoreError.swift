import Foundation
import GRDB
import TrackerCore

/// Why the store could not do what was asked: what, and where. Nothing of the refused write was kept.
package struct StoreError: Problem, Hashable {
    /// What kind of trouble, for callers that act on it (exit codes, retries).
    package enum Kind: String, Sendable {
        /// The path is no place for a store: a directory, a missing parent, no permission.
        case cannotOpen
        /// The file or its directory does not take writes.
        case readOnly
        /// The disk is full (or a quota is).
        case diskFull
        /// Another process held the store longer than we wait.
        case busy
        /// The file is no SQLite database, or a damaged one.
        case damaged
        /// A SQLite database of another program.
        case foreign
        /// Written by a later version of this project.
        case newer
        /// The disk failed below SQLite.
        case inputOutput
        /// Anything else that SQLite said.
        case other
    }

    /// How long a write waits for another process before it fails with `Kind.busy`, in seconds.
    package static let busySeconds: Double = 15

    /// What kind of trouble it is.
    package var kind: Kind
    /// What happened, in words.
    package var what: String
    /// The store's path.
    package var path: String
    /// The kind, or the particular case of it.
    package var code: String
    /// What the caller can do about it.
    package var category: ProblemCategory {
        switch kind {
        case .busy: .busy
        case .diskFull: .diskFull
        case .damaged, .foreign, .newer: .damaged
        case .cannotOpen, .readOnly, .inputOutput, .other: .failed
        }
    }
    /// The file, as `path`.
    package var values: [String: String] { ["path": path] }
    /// What happened, and in which file.
    package var sentence: String { "\(what) (\(path))." }

    /// - Parameter code: where something particular can be done about it; else the kind's own.
    package init(_ kind: Kind, _ what: String, at path: String, code: String? = nil) {
        self.kind = kind
        self.what = what
        self.path = path
        self.code = code ?? kind.rawValue
    }
}

extension StoreError {
    /// What SQLite said, as a sentence for the person at the terminal.
    init(_ error: DatabaseError, at path: String) {
        let said = "SQLite says: \(error.message ?? "nothing") (code \(error.extendedResultCode.rawValue))"
        // A full disk shows itself under several codes (the shared-memory file fails with an I/O error): ask the disk.
        let outOfSpace =
            error.resultCode == .SQLITE_FULL
            || (!Self.mayStand(after: error) && [.SQLITE_IOERR, .SQLITE_CANTOPEN].contains(error.resultCode)
                && Self.freeBytes(near: path) == 0)
        if outOfSpace {
            self.init(.diskFull, "The disk with the store is full, nothing was written", at: path)
            return
        }
        // A file that is there but cannot be "opened" is one beside which no log can be made.
        let isUnwritable =
            error.resultCode == .SQLITE_READONLY
            || (error.resultCode == .SQLITE_CANTOPEN && FileManager.default.fileExists(atPath: path))
        switch error.resultCode {
        case _ where Self.mayStand(after: error):
            self.init(
                .inputOutput,
                """
                The disk failed while the store was written, and whether the last change is kept cannot be known; \
                \(said)
                """,
                at: path, code: "perhapsKept")
        case _ where isUnwritable:
            self.init(.readOnly, "The store cannot be written, nothing was changed", at: path)
        case .SQLITE_CANTOPEN:
            self.init(.cannotOpen, "The store cannot be opened; \(said)", at: path)
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL:
            self.init(.busy, "Another process held the store for more than \(Int(Self.busySeconds)) s", at: path)
        case .SQLITE_NOTADB:
            self.init(.damaged, "The file is not a SQLite database", at: path, code: "notADatabase")
        case .SQLITE_CORRUPT:
            self.init(.damaged, "The store is damaged; \(said)", at: path)
        case .SQLITE_IOERR:
            self.init(.inputOutput, "The disk failed while reading or writing the store; \(said)", at: path)
        default:
            self.init(.other, "The store could not do that; \(said)", at: path)
        }
    }

    /// Whether what was to be written may be there all the same: all of it was, and only that it is on the disk was not
    /// confirmed. Who opens the store next finds it, unless another write came before.
    static func mayStand(after error: DatabaseError) -> Bool { error.extendedResultCode == .SQLITE_IOERR_FSYNC }

    /// Free bytes for an ordinary user on the disk that holds `path` or its nearest existing parent; `nil` if unknown.
    private static func freeBytes(near path: String) -> UInt64? {
        var url = URL(fileURLWithPath: path)
        var status = statvfs()
        while statvfs(url.path, &status) != 0 {
            guard url.path != "/" else { return nil }
            url.deleteLastPathComponent()
        }
        return UInt64(status.f_bavail) &* UInt64(status.f_frsize)
    }
}

/// What went wrong with a file, in the system's own words instead of Foundation's, which name a domain and a number.
package enum FileTrouble {
    /// A sentence's part: `No space left on device`. An error that has words of its own keeps them.
    package static func words(_ error: any Error) -> String {
        guard type(of: error) is NSError.Type || error is CocoaError || error is POSIXError else { return "\(error)" }
        let outer = error as NSError
        var error = outer
        // What Foundation wraps is what happened. It never wraps deep.
        for _ in 0..<4 { error = error.userInfo[NSUnderlyingErrorKey] as? NSError ?? error }
        let place = (outer.userInfo[NSFilePathErrorKey] as? String).map { ", at \($0)" } ?? ""
        guard let number = number(error) else {
            return "it cannot be written or read (\(error.domain) \(error.code))\(place)"
        }
        return String(cString: strerror(number)) + place
    }

    private static func number(_ error: NSError) -> Int32? {
        if error.domain == NSPOSIXErrorDomain { return Int32(exactly: error.code) }
        guard error.domain == NSCocoaErrorDomain else { return nil }
        return switch CocoaError.Code(rawValue: error.code) {
        case .fileNoSuchFile, .fileReadNoSuchFile: ENOENT
        case .fileReadNoPermission, .fileWriteNoPermission: EACCES
        case .fileWriteOutOfSpace: ENOSPC
        case .fileWriteVolumeReadOnly: EROFS
        case .fileWriteFileExists: EEXIST
        case .fileReadTooLarge: EFBIG
        // Foundation on Linux says no more than this where writing breaks off: mostly a disk that is full.
        case .fileWriteUnknown, .fileReadUnknown: EIO
        default: nil
        }
    }
}
