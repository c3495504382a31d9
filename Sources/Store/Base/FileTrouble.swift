import Foundation

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
