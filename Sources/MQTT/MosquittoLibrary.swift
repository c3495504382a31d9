import CMosquitto
import Glibc

/// libmosquitto, opened when it is first needed and then kept.
struct MosquittoLibrary: @unchecked Sendable {
    static let name = "libmosquitto.so.1"

    let functions: waterh_mosquitto

    /// - Throws: `MQTTFailure` of kind `libraryMissing`.
    static func open() throws(MQTTFailure) -> MosquittoLibrary { try opened.get() }

    // The functions' addresses never change: they may be read from anywhere.
    private static let opened: Result<MosquittoLibrary, MQTTFailure> = load(name)

    static func load(_ name: String) -> Result<MosquittoLibrary, MQTTFailure> {
        guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            let why = dlerror().map { String(cString: $0) } ?? "no reason given"
            return .failure(
                MQTTFailure(
                    .libraryMissing,
                    "The MQTT library \(name) is not installed (Debian's package libmosquitto1): \(why)"))
        }
        var functions = waterh_mosquitto()
        if let missing = waterh_mosquitto_load(library, &functions) {
            return .failure(
                MQTTFailure(
                    .libraryMissing, "The MQTT library \(name) has no \(String(cString: missing)): it is too old"))
        }
        _ = functions.lib_init()
        return .success(MosquittoLibrary(functions: functions))
    }

    func words(_ code: Int32) -> String { functions.strerror(code).map { String(cString: $0) } ?? "error \(code)" }
}
