import CommandSupport
import Store
import TrackerCore
import TrackerService
import WebServer

/// Checks which program listens at the address of the page.
enum PageCheck {
    /// The finding; empty if the page is off, or if no program listens at the address.
    static func finding(_ file: Configuration, _ location: StoreLocation) async -> [Finding] {
        let settings = try? location.open(hostZone: nil, for: .reading).settings()
        let listen =
            Machine.variable("WATERH_LISTEN") ?? file.listen ?? settings?.service.httpListen
            ?? ServiceSettings().httpListen
        guard case .tcp(let host, let port)? = HTTPServer.Endpoint(listen), port != 0 else { return [] }
        let local = ["0.0.0.0", "*"].contains(host) ? "127.0.0.1" : host == "::" ? "::1" : host
        let url = "http://\(local.contains(":") ? "[\(local)]" : local):\(port)/healthz"
        do throws(OutgoingFailure) {
            let answer = try await OutgoingClient(limit: .seconds(2)).send(OutgoingRequest("GET", url))
            if answer.status == 200, answer.body == Array("ok\n".utf8) {
                return [Finding("page", .good, "served at \(listen); to sign in: waterh-gateway open")]
            }
        } catch {
            if error.kind == .unreachable { return [] }
        }
        return [
            Finding(
                "page", .note, "another program listens at \(listen), the address of the page",
                advice: """
                    Find it with: ss -ltnp. End it, or set another address in waterh.toml: listen = "127.0.0.1:8078"
                    """)
        ]
    }
}
