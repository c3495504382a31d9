import CDashboard
import HTTPTypes
import Hummingbird
import NIOCore
import Utilities

enum PageRoutes {
    /// The paths of the app's single page, which shows a view for each path.
    private static let views = ["/", "/history", "/waterline", "/settings", "/bottle", "/welcome"]

    static func add(to table: RouteTable) {
        for file in PageFile.all where file.name.hasSuffix(".html") == false {
            table.publicRoute("/\(file.name)") { request in file.response(to: request) }
        }
        for path in views { add(path, "index.html", to: table) }
        add("/watch", "watch.html", to: table)
        add("/sign-in", "sign-in.html", to: table)
        // The former path, kept for one version. Browsers keep the fragment.
        table.publicRoute("/pair") { _ in Response(status: .permanentRedirect, headers: [.location: "sign-in"]) }
        table.publicRoute("\(RouteTable.base)/openapi.json") { request in
            guard let file = PageFile.named("openapi.json") else {
                throw HTTPProblem.notFound("There is no API description.")
            }
            return file.response(to: request)
        }
    }

    private static func add(_ path: String, _ name: String, to table: RouteTable) {
        guard let file = PageFile.named(name) else { return }
        table.publicRoute(path) { request in file.response(to: request) }
    }
}

/// A file of the page, embedded in the program.
struct PageFile: Sendable {
    let name: String
    let bytes: ByteBuffer
    let tag: String

    static let all: [PageFile] = (0..<Int(waterh_page_count)).map { index in
        let page = waterh_pages(UInt(index))
        let bytes = UnsafeRawBufferPointer(start: page.bytes, count: Int(page.length))
        return PageFile(
            name: String(cString: page.name), bytes: ByteBuffer(bytes: bytes),
            tag: "\"\(SHA256.hex(bytes).prefix(16))\"")
    }

    static func named(_ name: String) -> PageFile? { all.first { $0.name == name } }

    /// The file, or 304 if the browser has it. Browsers revalidate each time, so that a new version is used at once.
    func response(to request: Request) -> Response {
        var headers: HTTPFields = [.eTag: tag, .cacheControl: "no-cache"]
        if let known = request.headers[.ifNoneMatch], StateRoutes.matches(known, tag) {
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] = type
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: bytes))
    }

    private var type: String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "svg": "image/svg+xml"
        case "png": "image/png"
        case "json": "application/json"
        case "webmanifest": "application/manifest+json"
        default: "application/octet-stream"
        }
    }
}
