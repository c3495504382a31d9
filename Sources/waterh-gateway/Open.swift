import ArgumentParser
import CommandSupport
import Foundation
import Utilities

struct Open: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open", abstract: "Open the page, signed in as administrator",
        discussion: """
            Asks the running service for a link that works once and for 10 minutes. Opens it in the browser of this \
            desktop, if there is one, and prints it for other browsers.
            """)

    @OptionGroup var storeOptions: LocationOptions

    @Option(help: ArgumentHelp("Base address of the page, for proxies and mapped ports", valueName: "base"))
    var url: String?

    func validate() throws { try Invitation.check(url) }

    func run() throws {
        let invitation = try Invitation.make(storeOptions, scope: "admin", label: "browser")
        guard let base = url ?? invitation.localUrl else {
            throw CommandFailure(
                .refused, "no page: the service has the setting listen = \"off\"",
                advice: "Set an address in waterh.toml, as in listen = \"127.0.0.1:8077\", and restart the service.")
        }
        let (out, link) = (TextOutput.standard, invitation.link(base))
        let store = try storeOptions.load().store.path
        if Browser.open(link, file: ServiceSocket.file(forStore: store, "open.html")) {
            out.line("Opened in your browser. The link works once; if the page did not appear, run this again.")
        }
        out.line("Link, valid once, for \(invitation.minutes) minutes: \(link)")
        guard url == nil else { return }
        for other in invitation.urls where other != base { out.line("From another machine: \(invitation.link(other))") }
        if invitation.urls.isEmpty, let tunnel = Self.tunnel(to: base) {
            out.line("From another machine, first: \(tunnel)")
        }
    }

    /// The ssh command that forwards the page's port to another machine; `nil` for an invalid address.
    private static func tunnel(to base: String) -> String? {
        guard let parts = URLComponents(string: base), let host = parts.host, let port = parts.port else { return nil }
        let user = ProcessInfo.processInfo.environment["SUDO_USER"] ?? NSUserName()
        return "ssh -L \(port):\(host):\(port) \(user)@\(ProcessInfo.processInfo.hostName)"
    }
}

/// Opens links in the browser of the user's desktop.
enum Browser {
    /// Starts the browser, and returns at once.
    /// - Parameter file: the path of a page that redirects to the link. Other users could read the link as an argument.
    /// - Returns: whether there is a browser.
    static func open(_ link: String, file: String) -> Bool {
        let environment = ProcessInfo.processInfo.environment
        let hasDisplay = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
        guard hasDisplay, environment["SUDO_USER"] == nil, let program = ChildProcess.path(of: "xdg-open") else {
            return false
        }
        let target = Escaping.markup(link)
        let page = """
            <!doctype html><meta charset="utf-8"><title>Hydration</title>
            <meta http-equiv="refresh" content="0;url=\(target)"><a href="\(target)">Hydration</a>

            """
        unlink(file)
        let isCreated = FileManager.default.createFile(
            atPath: file, contents: Data(page.utf8), attributes: [.posixPermissions: 0o600])
        guard isCreated else { return false }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [file]
        let null = FileHandle.nullDevice
        (process.standardInput, process.standardOutput, process.standardError) = (null, null, null)
        return (try? process.run()) != nil
    }
}
