import ArgumentParser
import CommandSupport
import Foundation

struct Invite: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite", abstract: "Give a browser or a script access with a code",
        discussion: """
            Asks the running service for a code that is valid once, for 10 minutes. The page /sign-in accepts it. \
            Use --admin for your own browser if the service's machine has no desktop.
            """)

    @OptionGroup var storeOptions: LocationOptions

    @Option(help: "Scope: read, log, control or admin, each with the ones before it (default: control)")
    var scope: String?

    @Flag(help: "The same as --scope admin")
    var admin = false

    @Option(help: "Label in the list of tokens")
    var label = "browser"

    @Option(help: ArgumentHelp("Base address of the page, for proxies and mapped ports", valueName: "base"))
    var url: String?

    @Flag(help: "Print one JSON object")
    var json = false

    func validate() throws {
        guard scope == nil || !admin else { throw ValidationError("--scope cannot be used with --admin") }
        guard ["read", "log", "control", "admin"].contains(scope ?? "control") else {
            throw ValidationError("invalid --scope: expected read, log, control or admin")
        }
        try Invitation.check(url)
    }

    func run() throws {
        let invitation = try Invitation.make(storeOptions, scope: admin ? "admin" : scope ?? "control", label: label)
        let out = TextOutput.standard
        guard !json else { return out.line(invitation.json) }
        let links = url.map { [invitation.link($0)] } ?? invitation.urls.map(invitation.link)
        guard let first = links.first else {
            out.line(
                "Code for the page /sign-in: \(invitation.groupedCode), valid once, for \(invitation.minutes) minutes.")
            let port = invitation.localUrl.flatMap { URLComponents(string: $0)?.port } ?? 8077
            return out.line(
                "Other machines cannot reach the page. To change that: listen = \"0.0.0.0:\(port)\" in waterh.toml.")
        }
        for line in QRCode.lines(first) ?? [] { out.line(line) }
        for link in links { out.line("Open \(link)") }
        out.line("or enter the code \(invitation.groupedCode) there, within \(invitation.minutes) minutes.")
    }
}

/// The former name of `invite`.
struct Pair: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "pair", shouldDisplay: false)

    @Argument(parsing: .allUnrecognized) var rest: [String] = []

    func run() throws {
        throw CommandFailure(
            .wrongUse, "waterh-gateway pair is renamed: use waterh-gateway invite")
    }
}

/// An access code of the running service, and the addresses of its page.
struct Invitation: Decodable {
    var code: String
    /// The validity of the code in seconds.
    var seconds: Int
    /// The page's addresses for other machines.
    var urls: [String]
    /// The page's address for a browser on this machine; `nil` if the page is off.
    var localUrl: String?
    private(set) var json = ""

    private enum CodingKeys: CodingKey { case code, seconds, urls, localUrl }

    static func make(_ storeOptions: LocationOptions, scope: String, label: String) throws -> Invitation {
        let store = try storeOptions.load().store
        let path = ServiceSocket.path(forStore: store.path)
        let data: Data
        do {
            data = try ServiceSocket(path: path).post(
                "/api/v1/access-codes", ["scope": .string(scope), "label": .string(label)])
        } catch let failure as CommandFailure where failure.code == "noService" && isClosed(path) {
            throw CommandFailure(
                .refused, "no access to the service: its socket is open to the group waterh only",
                advice: """
                    sudo waterh-gateway open
                    To use it without sudo after your next login: sudo adduser $USER waterh
                    """)
        }
        guard var invitation = try? JSONDecoder().decode(Invitation.self, from: data) else {
            throw CommandFailure(.failed, "the response of the service is invalid")
        }
        invitation.json = String(decoding: data, as: UTF8.self)
        return invitation
    }

    /// Whether the socket of a system service exists and this user cannot open it.
    private static func isClosed(_ path: String) -> Bool {
        ["/run/waterh/.", path].contains { (path: String) in access(path, R_OK | W_OK) != 0 && errno == EACCES }
    }

    var minutes: Int { seconds / 60 }

    /// The code in two groups of five characters, for typing.
    var groupedCode: String { "\(code.prefix(5)) \(code.suffix(5))" }

    /// The link with the code. Servers and proxies do not log the fragment.
    func link(_ base: String) -> String { "\(base)\(base.hasSuffix("/") ? "" : "/")sign-in#\(code)" }

    /// Checks the value of `--url`.
    /// - Throws: `ValidationError` if the value of `--url` is not an HTTP address.
    static func check(_ url: String?) throws {
        guard let url else { return }
        let parts = URLComponents(string: url)
        guard ["http", "https"].contains(parts?.scheme ?? ""), parts?.host?.isEmpty == false, parts?.fragment == nil
        else { throw ValidationError("invalid --url \(url): expected http://HOST:PORT or https://HOST") }
    }
}
