/// An error with its own exit reason.
package protocol HasExitReason: Error {
    var exitReason: ExitReason { get }
}
