import CArchive
import Glibc
import Replay

/// libarchive, opened when it is first needed and then kept.
struct ArchiveLibrary: @unchecked Sendable {
    static let name = "libarchive.so.13"

    let functions: waterh_archive

    /// - Throws: `CaptureFileError` where the library is missing or too old.
    static func open(for path: String) throws(CaptureFileError) -> ArchiveLibrary {
        switch opened {
        case .success(let library): return library
        case .failure(let missing):
            throw CaptureFileError(path: path, sentence: "\(missing.sentence). Install it, or unpack the file first")
        }
    }

    /// A library that unpacks is not there, or not as it should be: a sentence without its beginning.
    struct Missing: Error {
        var sentence: String
    }

    // The functions' addresses never change: they may be read from anywhere.
    private static let opened: Result<ArchiveLibrary, Missing> = load(name)

    static func load(_ name: String) -> Result<ArchiveLibrary, Missing> {
        guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            return .failure(
                Missing(
                    sentence:
                        """
                        is packed, and the library that unpacks, \(name), is not installed (Debian's package \
                        libarchive13)
                        """
                ))
        }
        var functions = waterh_archive()
        if let missing = waterh_archive_load(library, &functions) {
            return .failure(
                Missing(
                    sentence:
                        """
                        is packed, and the library that unpacks, \(name), has no \(String(cString: missing)): it \
                        is too old
                        """
                ))
        }
        return .success(ArchiveLibrary(functions: functions))
    }
}
