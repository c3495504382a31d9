import CCurl
import Glibc

/// libcurl, opened when it is first needed and then kept.
struct CurlLibrary: @unchecked Sendable {
    static let name = "libcurl.so.4"

    let functions: waterh_curl
    // The same, for the functions that take it by its address.
    let table: UnsafePointer<waterh_curl>

    /// - Throws: `OutgoingFailure` of kind `libraryMissing`.
    static func open() throws(OutgoingFailure) -> CurlLibrary { try opened.get() }

    // The functions' addresses never change: they may be read from anywhere.
    private static let opened: Result<CurlLibrary, OutgoingFailure> = load(name)

    static func load(_ name: String) -> Result<CurlLibrary, OutgoingFailure> {
        guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            let why = dlerror().map { String(cString: $0) } ?? "no reason given"
            return .failure(
                OutgoingFailure(
                    .libraryMissing, "The HTTP library \(name) is not installed (Debian's package libcurl4): \(why)"))
        }
        var functions = waterh_curl()
        if let missing = waterh_curl_load(library, &functions) {
            return .failure(
                OutgoingFailure(
                    .libraryMissing, "The HTTP library \(name) has no \(String(cString: missing)): it is too old"))
        }
        // CURL_GLOBAL_ALL
        guard functions.global_init(3) == CURLE_OK else {
            return .failure(OutgoingFailure(.libraryMissing, "The HTTP library \(name) does not start"))
        }
        let table = UnsafeMutablePointer<waterh_curl>.allocate(capacity: 1)
        table.initialize(to: functions)
        return .success(CurlLibrary(functions: functions, table: UnsafePointer(table)))
    }

    func words(_ code: CURLcode) -> String {
        functions.easy_strerror(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
    }
}
