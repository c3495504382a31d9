import Foundation
import GRDB
package import TrackerCore

/// An error of the store. Nothing of the failed write was stored.
package struct StoreError: Problem, Hashable {
    /// The kind of the error.
    package enum Kind: String, Sendable {
        /// The path cannot be a store: a directory, a missing parent directory, no permission.
        case cannotOpen
        case readOnly
        case diskFull
        /// Another process locked the store longer than the time limit.
        case busy
        /// The file is not an SQLite database, or it is damaged.
        case damaged
        /// A SQLite database of another program.
        case foreign
        /// A later version wrote the file.
        case newer
        case inputOutput
        case other
    }

    /// The time limit of a write that waits for another process, in seconds.
    package static let busySeconds: Double = 15

    package var kind: Kind
    /// The cause as a clause without a full stop, for example `The store is damaged`.
    package var cause: String
    package var path: String
    /// A stable name for programs: the kind, or a more specific case.
    package var code: String
    package var category: ProblemCategory {
        switch kind {
        case .busy: .busy
        case .diskFull: .diskFull
        case .damaged, .foreign, .newer: .damaged
        case .cannotOpen, .readOnly, .inputOutput, .other: .failed
        }
    }
    package var values: [String: String] { ["path": path] }
    package var sentence: String { "\(cause) (\(path))." }

    /// - Parameter code: the name of a more specific case; `nil` uses the name of the kind.
    package init(_ kind: Kind, _ cause: String, at path: String, code: String? = nil) {
        self.kind = kind
        self.cause = cause
        self.path = path
        self.code = code ?? kind.rawValue
    }
}

extension StoreError {
    init(_ error: DatabaseError, at path: String) {
        let detail = "SQLite: \(error.message ?? "no message") (code \(error.extendedResultCode.rawValue))"
        // On a full disk, SQLite also reports I/O errors, so check the free space.
        let outOfSpace =
            error.resultCode == .SQLITE_FULL
            || (!Self.mightBeDurable(after: error) && [.SQLITE_IOERR, .SQLITE_CANTOPEN].contains(error.resultCode)
                && Self.freeBytes(near: path) == 0)
        if outOfSpace {
            self.init(.diskFull, "The disk with the store is full, nothing was written", at: path)
            return
        }
        // If the file exists and cannot be opened, SQLite cannot create its WAL.
        let isUnwritable =
            error.resultCode == .SQLITE_READONLY
            || (error.resultCode == .SQLITE_CANTOPEN && FileManager.default.fileExists(atPath: path))
        switch error.resultCode {
        case _ where Self.mightBeDurable(after: error):
            self.init(
                .inputOutput,
                "The disk failed while the store was written, and the last change might be lost; \(detail)",
                at: path, code: "perhapsKept")
        case _ where isUnwritable:
            self.init(.readOnly, "The store cannot be written, nothing was changed", at: path)
        case .SQLITE_CANTOPEN:
            self.init(.cannotOpen, "The store cannot be opened; \(detail)", at: path)
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL:
            self.init(.busy, "Another process locked the store for more than \(Int(Self.busySeconds)) s", at: path)
        case .SQLITE_NOTADB:
            self.init(.damaged, "The file is not a SQLite database", at: path, code: "notADatabase")
        case .SQLITE_CORRUPT:
            self.init(.damaged, "The store is damaged; \(detail)", at: path)
        case .SQLITE_IOERR:
            self.init(.inputOutput, "Reading or writing the store failed; \(detail)", at: path)
        default:
            self.init(.other, "The database operation failed; \(detail)", at: path)
        }
    }

    /// Whether the commit might be on disk although it failed, because only its fsync failed.
    static func mightBeDurable(after error: DatabaseError) -> Bool { error.extendedResultCode == .SQLITE_IOERR_FSYNC }

    /// The free bytes for unprivileged users on the disk of `path`; `nil` if its directory does not exist.
    private static func freeBytes(near path: String) -> UInt64? {
        var status = statvfs()
        let folder = URL(fileURLWithPath: StoreFile.target(of: path)).deletingLastPathComponent().path
        guard statvfs(folder, &status) == 0 else { return nil }
        return UInt64(status.f_bavail) &* UInt64(status.f_frsize)
    }
}

/// Texts for file errors by errno. Foundation's own texts contain a domain and a number.
package enum FileErrorText {
    /// The error as a clause: `No space left on device`. Errors of other types keep their description.
    package static func text(_ error: any Error) -> String {
        guard type(of: error) is NSError.Type || error is CocoaError || error is POSIXError else { return "\(error)" }
        let outer = error as NSError
        var error = outer
        // The innermost underlying error has the cause.
        for _ in 0..<4 { error = error.userInfo[NSUnderlyingErrorKey] as? NSError ?? error }
        let location = (outer.userInfo[NSFilePathErrorKey] as? String).map { ", at \($0)" } ?? ""
        guard let number = number(error) else {
            return "reading or writing failed (\(error.domain) \(error.code))\(location)"
        }
        return String(cString: strerror(number)) + location
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
        // Foundation on Linux has no more details. The usual cause is a full disk.
        case .fileWriteUnknown, .fileReadUnknown: EIO
        default: nil
        }
    }
}
